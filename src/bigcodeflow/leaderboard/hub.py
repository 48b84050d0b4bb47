"""Publishing a leaderboard to a dataset repository of the Hugging Face Hub, as one commit."""

import hashlib
import os
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from bigcodeflow.core.errors import PublishingError
from bigcodeflow.leaderboard.history import Snapshot
from bigcodeflow.leaderboard.outputs import files, to_markdown

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

_TRIES = 5
_WAIT_SECONDS = 0.5
_FRONT_MATTER = """---
pretty_name: BigCodeBench leaderboard (bigcodeflow)
configs:
- config_name: default
  data_files: leaderboard.csv
---
"""


class Published(NamedTuple):
    """What publishing did, or would do."""

    commit: str
    """Sha of the commit that was made or holds the content already; empty after a dry run."""
    written: tuple[str, ...]
    """Files that were added or replaced, empty where there was nothing to do; after a dry run all that there are."""
    tries: int
    """Commits tried; 0 where none was needed."""


def repository_files(snapshot: Snapshot) -> dict[str, bytes]:
    """The files of the repository by path: the outputs, a card, and the snapshot under its own name."""
    found = files(snapshot)
    del found["leaderboard.md"]  # the card is the same text
    card = _FRONT_MATTER + to_markdown(snapshot)
    return {"README.md": card.encode(), **found, f"history/{snapshot.name}.json": snapshot.to_json()}


def publish(snapshot: Snapshot, repository: str, *, dry_run: bool = False) -> Published:
    """Make the repository show the snapshot; nothing is sent where it does already.

    All files come in one commit on the parent that was read, so that a reader never meets half a leaderboard. Where
    somebody else has committed meanwhile, the repository is read again and only what then differs is sent. Files that
    are not ours, earlier history included, are left alone.

    Args:
        snapshot: what to show.
        repository: an existing dataset repository, OWNER/NAME.
        dry_run: only say which files the repository would have; without token or network, so it cannot tell which of
            them are there already.

    Raises:
        PublishingError: no token, no such repository, no permission, or a hub that does not answer.
    """
    from httpx2 import HTTPError  # the hub client's transport, whose errors it lets through
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    wanted = repository_files(snapshot)
    try:
        validate_repo_id(repository)
        if dry_run:
            return Published("", tuple(wanted), 0)
        return _publish(_api(), repository, wanted, f"Leaderboard {snapshot.name}")
    except HFValidationError:
        raise PublishingError(f"{repository!r} is no name of a repository: write it as OWNER/NAME") from None
    except HfHubHTTPError as error:
        raise _translated(error, repository) from None
    except (HTTPError, OfflineModeIsEnabled, OSError) as error:
        raise PublishingError(
            f"{repository}: the hub does not answer ({_one_line(error)}): check network and HF_ENDPOINT and publish "
            "again; what is there already is not sent twice"
        ) from None
    except (ValueError, KeyError, TypeError) as error:  # what is no hub answers with HTML or with other JSON
        raise PublishingError(f"{repository}: HF_ENDPOINT does not answer as a hub ({_one_line(error)})") from None


def _publish(api: "HfApi", repository: str, wanted: Mapping[str, bytes], message: str) -> Published:
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    for number in range(_TRIES):
        parent, there = _content(api, repository)
        pending = []
        for path, content in wanted.items():
            # What the hub calls a file of this content: git's sha1 of a blob, or the sha256 of a large file.
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
            if there.get(path) not in (blob, hashlib.sha256(content).hexdigest()):
                pending.append(path)
        if not pending:
            return Published(parent, (), number)
        operations = [CommitOperationAdd(path, wanted[path]) for path in pending]
        try:
            done = api.create_commit(
                repository, operations, commit_message=message, repo_type="dataset", parent_commit=parent
            )
        except HfHubHTTPError as error:
            if error.response.status_code != HTTPStatus.PRECONDITION_FAILED:
                raise
            time.sleep(_WAIT_SECONDS * number)
        else:
            return Published(done.oid, tuple(pending), number + 1)
    raise PublishingError(f"{repository}: others committed {_TRIES} times meanwhile: publish again")


def _content(api: "HfApi", repository: str) -> tuple[str, dict[str, str]]:
    """The newest commit, and what identifies each file in it."""
    from huggingface_hub.hf_api import RepoFile

    info = api.dataset_info(repository, timeout=10.0)
    if not info.sha:
        raise PublishingError(f"{repository}: has no commit yet: add a file to it on the hub first")
    tree = api.list_repo_tree(repository, recursive=True, revision=info.sha, repo_type="dataset")
    files_there = [item for item in tree if isinstance(item, RepoFile)]
    return info.sha, {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files_there}


def _api() -> "HfApi":
    from huggingface_hub import HfApi, get_token

    token = get_token()
    if not token:
        raise PublishingError("publishing needs a token with write access: set HF_TOKEN, or run `hf auth login`")
    # Such a token fails in the transport, whose message would show it.
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise PublishingError("HF_TOKEN holds a blank, a line break or another character that no token has")
    # The client reads the variable once, when it is imported; a process that lives for days may be told later.
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT", "").rstrip("/") or None, token=token)


def _translated(error: "HfHubHTTPError", repository: str) -> PublishingError:
    from huggingface_hub.errors import RepositoryNotFoundError

    status = error.response.status_code
    if isinstance(error, RepositoryNotFoundError) or status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return PublishingError(
            f"{repository}: is no dataset repository that this token may write to (status {status}): create it on the "
            "hub, and set HF_TOKEN to a token with write access to it"
        )
    reason = error.server_message or error.response.reason_phrase
    return PublishingError(f"{repository}: the hub refused (status {status}, {reason}): publish again later")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
