"""Tasks from the Hugging Face Hub, pinned to one commit and kept in the hub client's own cache."""

import logging
import os
import re
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError, error_message
from bigcodeflow.datasets.sources import ResolvedDataset

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.hf_api import DatasetInfo

DEFAULT_VERSION = "v0.1.4"
HUB_SOURCE = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+?)(?:@(?P<version>[\w.-]+))?(?:#(?P<commit>[0-9a-f]{40}))?", re.ASCII)

_FULL_REPO = "bigcode/bigcodebench"
_HARD_REPO = "bigcode/bigcodebench-hard"
_SHARD = re.compile(r"data/(?P<version>.+)-\d{5}-of-(?P<shards>\d{5})(-[0-9a-f]{16})?\.parquet")
_REQUEST_TIMEOUT_SECONDS = 10.0
_TRIES = 3
_DEFAULT_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 30.0

_logger = logging.getLogger(__name__)


class _HubUnreachableError(Exception):
    """Error of a request that the hub did not answer; cached files may be used instead."""


# The hub client reads these variables once, when it is imported; a worker that lives for days may get others later.
def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _cache() -> Path:
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def _is_offline(config: DatasetConfig) -> bool:
    return config.offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


class HubSource(NamedTuple):
    """Version of a dataset repository on the hub; the hub's word for a version is split."""

    repo: str
    version: str = DEFAULT_VERSION
    commit: str | None = None  # pinned commit; None takes the newest

    def resolve(self, config: DatasetConfig) -> ResolvedDataset:
        """Pin the version to a commit, with at most one request.

        If the hub does not answer, or in offline mode, take the commit that was downloaded last and mention this in
        the result's ``describe``. If the hub does not answer, also log a warning.
        """
        # A commit belongs to the named repository; its hard tasks are then selected by their ids.
        hard_twin = config.subset == "hard" and self.repo == _FULL_REPO and not self.commit
        named = self._replace(repo=_HARD_REPO) if hard_twin else self
        if self.commit and (files := named.cached_files(self.commit)):
            return named.at(self.commit, files)
        if _is_offline(config):
            return named.from_cache("offline")
        try:
            info = _dataset_info(named.repo, self.commit)
        except _HubUnreachableError as error:
            found = named.from_cache(f"the hub does not answer: {error}")
            _logger.warning("%s", found.describe)
            return found
        versions: dict[str, list[str]] = {}
        for sibling in info.siblings or ():
            if match := _SHARD.fullmatch(sibling.rfilename):
                versions.setdefault(match["version"], []).append(sibling.rfilename)
        if self.version not in versions or not info.sha:
            known = ", ".join(sorted(versions)) or "none (no data/VERSION-*.parquet)"
            available = f"has no version {self.version!r}; available: {known}"
            raise DatasetError(f"{named.repo}: {available}: correct dataset.source")
        return named.at(info.sha, versions[self.version])

    def at(self, commit: str, files: Sequence[str], notice: str = "") -> ResolvedDataset:
        """Return this version, pinned to ``commit``; ``notice`` ends the description of the result."""
        fingerprint = {"hub": self.repo, "version": self.version, "commit": commit}
        return ResolvedDataset(fingerprint, f"{self.repo} {self.version} at commit {commit[:12]}{notice}", tuple(files))

    def from_cache(self, reason: str) -> ResolvedDataset:
        """Return the cached copy of this version, by default the last download; raise DatasetError if there is none."""
        # Newest download first.
        cached = sorted(_snapshots(self.repo).glob("*"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for commit in [self.commit] if self.commit else [path.name for path in cached]:
            if files := self.cached_files(commit):
                return self.at(commit, files, f" from the cache ({reason})")
        raise DatasetError(
            f"{self.repo}@{self.version}: {reason}, and {_cache()} holds no copy: "
            f"run once with network, or set dataset.source to a file or to 'starter'"
        )

    def cached_files(self, commit: str) -> tuple[str, ...]:
        """Return the names of this version's Parquet files in the cache at ``commit``; empty if a file is missing."""
        names = (f"data/{path.name}" for path in sorted((_snapshots(self.repo) / commit / "data").glob("*.parquet")))
        matches = [match for name in names if (match := _SHARD.fullmatch(name)) and match["version"] == self.version]
        complete = bool(matches) and all(int(match["shards"]) == len(matches) for match in matches)
        return tuple(match.string for match in matches) if complete else ()

    def fetch(self, config: DatasetConfig, resolved: ResolvedDataset) -> tuple[Path, ...]:
        """Return the version's Parquet files at the pinned commit; download only files that are not cached."""
        repo, commit = resolved.fingerprint["hub"], resolved.fingerprint["commit"]
        snapshot = _snapshots(repo) / commit
        missing = [name for name in resolved.files if not (snapshot / name).is_file()]
        if missing and _is_offline(config):
            raise DatasetError(f"{repo}: commit {commit[:12]} is not cached, and the run is offline: run once online")
        for name in missing:
            _download(repo, commit, name)
        return tuple(snapshot / name for name in resolved.files)


def _snapshots(repo: str) -> Path:
    return _cache() / f"datasets--{repo.replace('/', '--')}" / "snapshots"


def _dataset_info(repo: str, commit: str | None, tries: int = _TRIES) -> "DatasetInfo":
    from httpx2 import HTTPError  # the hub client's transport, whose errors it lets through
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        return HfApi(endpoint=_endpoint()).dataset_info(repo, revision=commit, timeout=_REQUEST_TIMEOUT_SECONDS)
    except HfHubHTTPError as error:
        stated = error.response.headers.get("Retry-After", "")
        wait_seconds = float(stated) if stated.isdecimal() else _DEFAULT_WAIT_SECONDS
        limited = error.response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        if not limited or wait_seconds > _LONGEST_WAIT_SECONDS or tries == 1:
            raise _translated(error, repo, commit) from None
    except (HTTPError, OfflineModeIsEnabled) as error:
        raise _HubUnreachableError(error_message(error)) from None
    except (ValueError, KeyError, TypeError) as error:  # another server answers with HTML or with other JSON
        raise DatasetError(f"{repo}: HF_ENDPOINT is no hub's address ({error_message(error)}): correct it") from None
    time.sleep(wait_seconds)
    return _dataset_info(repo, commit, tries - 1)


def _download(repo: str, commit: str, name: str) -> None:
    from httpx2 import HTTPError
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    place = f"{repo}: {name} at commit {commit[:12]}"
    client: dict[str, Any] = {"cache_dir": _cache(), "endpoint": _endpoint(), "etag_timeout": _REQUEST_TIMEOUT_SECONDS}
    try:
        hf_hub_download(repo, name, repo_type="dataset", revision=commit, **client)
    except LocalEntryNotFoundError:
        remedy = "check network and HF_ENDPOINT"
        raise DatasetError(f"{place} is not cached and the hub does not answer: {remedy}") from None
    except EntryNotFoundError:
        raise DatasetError(f"{place} is not on the hub: start a new run to take the newest commit") from None
    except HfHubHTTPError as error:
        problem = _translated(error, repo, commit)
        if isinstance(problem, DatasetError):
            raise problem from None
        raise DatasetError(f"{place} could not be downloaded ({problem}): try again later") from None
    except (HTTPError, OSError) as error:
        raise DatasetError(f"{place} could not be downloaded ({error_message(error)}): try again") from None


def _translated(error: "HfHubHTTPError", repo: str, commit: str | None) -> Exception:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    status = error.response.status_code
    match error:
        case GatedRepoError():
            problem = "is gated: accept its conditions on the hub, then set HF_TOKEN to a token of that account"
        case RepositoryNotFoundError():
            problem = "is not a dataset on the hub, or is private: correct dataset.source or set HF_TOKEN"
        case RevisionNotFoundError():
            problem = f"has no commit {commit}: correct the commit after # in dataset.source"
        case _ if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return _HubUnreachableError(f"status {status}")
        case _:
            problem = f"the hub refused the request ({error_message(error)}): check HF_TOKEN"
    return DatasetError(f"{repo}: {problem}")
