"""Update of a store's leaderboard, and its publication in one commit to a dataset repository of the hub."""

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from bigcodeflow.core.errors import ArtifactError, BigCodeFlowError, PublishingError, error_message
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import user_path
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow_leaderboard import history
from bigcodeflow_leaderboard.entries import published_entries
from bigcodeflow_leaderboard.measured_entries import Allowance, measured_entries
from bigcodeflow_leaderboard.outputs import files, to_markdown

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TRIES = 5
_WAIT_SECONDS = 0.5
_FRONT_MATTER = """---
pretty_name: BigCodeBench leaderboard (bigcodeflow)
configs:
- config_name: default
  data_files: leaderboard.csv
---
"""


class LeaderboardConfig(SettingsModel):
    """Settings of the leaderboard: runs to show, folder of the pages, and publication on the hub."""

    store: str = "results/store"
    """Folder or URL of the store whose recorded runs are shown."""
    out: str = "results/leaderboard"
    """Folder for the leaderboard's files."""
    runs: tuple[str, ...] = ()
    """Take only these runs, by record, run or model name; empty takes the latest of every model and setting."""
    allow: tuple[Allowance, ...] = ()
    """Take runs in spite of this shortcoming, and say so in the entry."""
    max_drop_points: float = Field(default=history.MAX_DROP_POINTS, ge=0, le=100)
    """Percentage points that a score may drop if its tasks cannot be compared one by one."""
    fail_on_regression: bool = False
    """End as failed where a score has dropped beyond chance since the last snapshot."""
    repository: str = Field(default="", examples=["my-organisation/bigcodebench-results"])
    """Dataset repository of the Hugging Face Hub to publish to, OWNER/NAME; empty publishes nothing. Needs HF_TOKEN."""
    dry_run: bool = True
    """Only list the files that would be published; nothing is sent, so HF_TOKEN is not needed."""


class Published(NamedTuple):
    """Result of publishing, or of a dry run."""

    commit: str
    """Sha of the new commit, or of the commit that already has the content; empty after a dry run."""
    written: tuple[str, ...]
    """Paths of the files that were added or replaced; after a dry run, the paths of all files."""


class LeaderboardUpdate(NamedTuple):
    """Result of updating a leaderboard."""

    snapshot: history.Snapshot
    changes: history.Changes | None
    """Changes since the previous snapshot; None if there was none."""
    refusals: tuple[str, ...]
    """Runs that cannot be shown, and why."""
    files: tuple[Path, ...]
    published: Published | None
    """Result of publishing to the hub, or of its dry run; None if no repository is named."""


def update_leaderboard(config: LeaderboardConfig, now: datetime) -> LeaderboardUpdate:
    """Compare the store's runs with the latest snapshot, record a new snapshot, write the files, and publish."""
    measured = measured_entries(config.store, runs=config.runs, allow=config.allow)
    entries = (*published_entries(), *measured.entries)
    changes = None
    if history.snapshot_paths(config.store):
        before = history.find_snapshot(config.store, "latest").entries
        points = config.max_drop_points
        changes = history.changes(before, entries, store_root=config.store, max_drop_points=points)
    snapshot = history.record_snapshot(config.store, entries, now)
    out = user_path(config.out)
    written = tuple(write_atomically(out / name, content) for name, content in files(snapshot).items())
    published = None
    if config.repository:
        if not measured.entries:
            raise ArtifactError(f"{config.store}: has no run that can be published: run a model first")
        published = publish(snapshot, config.repository, dry_run=config.dry_run)
    return LeaderboardUpdate(snapshot, changes, measured.refusals, written, published)


def refuse_regressions(update: LeaderboardUpdate) -> None:
    """Raise BigCodeFlowError if scores dropped beyond chance since the last snapshot, with a line for each drop."""
    if update.changes is not None and update.changes.regressions:
        raise BigCodeFlowError(
            "\n".join(f"regression: {history.change_line(one)}" for one in update.changes.regressions)
        )


def repository_files(snapshot: history.Snapshot) -> dict[str, bytes]:
    """Return the repository's files by path: the outputs, a README.md, and the snapshot as history/NAME.json."""
    found = files(snapshot)
    del found["leaderboard.md"]  # the card is the same text
    card = _FRONT_MATTER + to_markdown(snapshot)
    return {"README.md": card.encode(), **found, f"history/{snapshot.name}.json": snapshot.to_json()}


def publish(snapshot: history.Snapshot, repository: str, *, dry_run: bool = False) -> Published:
    """Write the snapshot's files to the repository; send nothing if the repository has them already.

    All files go into one commit, so that a reader never sees half a leaderboard. If somebody else commits between
    reading and writing, the repository is read again, and only files that then differ are sent. Other files in the
    repository, earlier history included, stay unchanged.

    Args:
        snapshot: entries to show.
        repository: an existing dataset repository, OWNER/NAME.
        dry_run: only name the files, without token or network; files that the repository already has are named too.
    """
    wanted = repository_files(snapshot)
    with hub_errors(repository, "dataset"):
        if dry_run:
            return Published("", tuple(wanted))
        return _publish(hub_api(), repository, wanted, f"Leaderboard {snapshot.name}")


@contextmanager
def hub_errors(repository: str, kind: Literal["dataset", "model"]) -> Iterator[None]:
    """Check the repository's name, and convert every error of the hub into a PublishingError of one line."""
    from httpx2 import HTTPError  # raised by the hub client's transport; the client does not convert it
    from huggingface_hub import errors
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repository)
        yield
    except errors.HFValidationError:
        raise PublishingError(f"{repository!r} is not a repository's name: write it as OWNER/NAME") from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        no_access = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        if isinstance(error, errors.RepositoryNotFoundError) or status in no_access:
            problem = f"is no {kind} repository that this token may write to (status {status})"
            remedy = "create it on the hub, and set HF_TOKEN to a token with write access to it"
        else:
            reason = error.server_message or error.response.reason_phrase
            problem, remedy = f"the hub refused (status {status}, {reason})", "publish again later"
        raise PublishingError(f"{repository}: {problem}: {remedy}") from None
    except (HTTPError, errors.OfflineModeIsEnabled, OSError) as error:
        raise PublishingError(
            f"{repository}: the hub does not answer ({error_message(error)}): check network and HF_ENDPOINT, "
            "then publish again; files that the hub already has are not sent twice"
        ) from None
    except (ValueError, KeyError, TypeError) as error:  # a server that is no hub answers with HTML or other JSON
        raise PublishingError(f"{repository}: HF_ENDPOINT is no hub ({error_message(error)}): correct it") from None


def _publish(api: "HfApi", repository: str, wanted: Mapping[str, bytes], message: str) -> Published:
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    for number in range(_TRIES):
        parent, pending = missing_files(api, repository, "dataset", wanted)
        if not pending:
            return Published(parent, ())
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
            return Published(done.oid, tuple(pending))
    raise PublishingError(f"{repository}: others changed it during each of {_TRIES} attempts: publish again")


def missing_files(
    api: "HfApi", repository: str, kind: Literal["dataset", "model"], wanted: Mapping[str, bytes]
) -> tuple[str, list[str]]:
    """Return the repository's newest commit, and the paths of files that it lacks or holds with other content."""
    from huggingface_hub.hf_api import RepoFile

    info = api.repo_info(repository, repo_type=kind, timeout=10.0)
    if not info.sha:
        raise PublishingError(f"{repository}: has no commit yet: add a file to it on the hub first")
    tree = api.list_repo_tree(repository, recursive=True, revision=info.sha, repo_type=kind)
    files_there = [item for item in tree if isinstance(item, RepoFile)]
    there = {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files_there}
    missing = []
    for path, content in wanted.items():
        # The hub identifies a file by git's sha1 of its blob, or by the sha256 of a large (LFS) file.
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        if there.get(path) not in (blob, hashlib.sha256(content).hexdigest()):
            missing.append(path)
    return info.sha, missing


def hub_api() -> "HfApi":
    """Return a client of the hub with the user's token; no error message shows the token."""
    from huggingface_hub import HfApi, get_token

    token = get_token()
    if not token:
        raise PublishingError("publishing needs a token with write access: set HF_TOKEN, or run `hf auth login`")
    # The transport would refuse such a token with a message that shows it.
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise PublishingError("HF_TOKEN holds a blank, a line break or another character that no token has: correct it")
    # The client reads HF_ENDPOINT only at import; a long-running process may set the variable later.
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT", "").rstrip("/") or None, token=token)
