"""Objects of a store at a URL, by fsspec: a bucket or a remote folder, with retries and errors that name a remedy.

Object stores write each object atomically. A file system may write an incomplete object: its checksum then fails.
"""

import glob
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bigcodeflow.core.errors import ArtifactError, error_message

logger = logging.getLogger(f"bigcodeflow.{__name__}")

T = TypeVar("T")

_PAUSES_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Keys of the time of writing in listings: of s3, abfs, gs, and of remote folders.
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
#: Errors of botocore about credentials, which a retry cannot fix.
_REFUSALS = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound")


class BucketObject(NamedTuple):
    """Size and time of writing of an object; if the listing states no valid time, the time of the listing is taken."""

    size_bytes: int
    written_at: datetime


class Bucket:
    """Objects below a URL; names of objects are relative to the URL and use slashes."""

    def __init__(self, url: str, system: Any, root: str) -> None:
        """Take the store's URL, fsspec's file system, and the store's path in it."""
        self.url, self._system, self._root = url, system, root

    def read(self, name: str) -> bytes | None:
        """Return an object's content, or None if the object does not exist."""
        try:
            content: bytes = self._with_retries(lambda: self._system.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write an object; replace an existing one."""
        self._with_retries(lambda: self._system.pipe_file(self._path(name), content), creates=True)

    def upload(self, name: str, source: Path) -> None:
        """Write a file as an object."""
        self._with_retries(lambda: self._system.put_file(str(source), self._path(name)), creates=True)

    def download(self, name: str, target: Path) -> None:
        """Download an object to a file; raise FileNotFoundError if the object does not exist."""
        self._with_retries(lambda: self._system.get_file(self._path(name), str(target)))

    def open(self, name: str) -> AbstractContextManager[Any]:
        """Open an object as a binary file that fetches only the ranges that are read."""
        file: AbstractContextManager[Any] = self._with_retries(lambda: self._system.open(self._path(name), "rb"))
        return file

    def objects(self, folder: str) -> dict[str, BucketObject]:
        """Return size and time of every object below a folder, by name relative to the folder; sorted by name."""
        top = self._path(folder)
        try:
            found = self._with_retries(lambda: self._system.find(top, detail=True))
        except FileNotFoundError:
            return {}
        return {
            path[len(top) + 1 :]: BucketObject(int(facts["size"] or 0), _written_at(facts))
            for path, facts in sorted(found.items())
        }

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects, if they exist."""
        # rm would take the store's own path for a pattern, and remove another store's objects.
        remove = self._system.rm if glob.escape(self._root) == self._root else self._each_removed
        if names:
            with suppress(FileNotFoundError):
                self._with_retries(lambda: remove([self._path(name) for name in names]))

    def _each_removed(self, paths: Sequence[str]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                self._system.rm_file(path)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _with_retries(self, call: Callable[[], T], *, creates: bool = False) -> T:
        """Return the result of a call; after a temporary error, retry it. ``creates``: the call writes an object."""
        message = ""
        for pause_seconds in (0.0, *_PAUSES_SECONDS):
            time.sleep(pause_seconds)
            try:
                return call()
            except FileNotFoundError as error:
                # Without its bucket every object would seem missing, and hours of work would be repeated.
                response = getattr(error.__cause__, "response", None) or {}
                if creates or response.get("Error", {}).get("Code") == "NoSuchBucket":
                    raise ArtifactError(
                        f"store {self.url}: {error_message(error)}: create the bucket, or name another store"
                    ) from None
                raise
            except _transient_errors() as error:
                message = error_message(error)
                if isinstance(error, PermissionError) or type(error).__name__ in _REFUSALS:
                    raise ArtifactError(
                        f"store {self.url}: access is refused ({message}): give credentials that may read and write "
                        "there, for s3 by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE"
                    ) from None
                logger.info("store %s does not answer (%s); trying again", self.url, message)
        raise ArtifactError(
            f"store {self.url} cannot be reached ({message}): check the network and the address (AWS_ENDPOINT_URL "
            "for s3), then run the same command again; finished work is kept"
        )


@cache
def open_bucket(url: str) -> Bucket:
    """Return the Bucket for a URL; each process has a single Bucket per URL, so that connections are shared."""
    import fsspec

    protocol = url.partition("://")[0]
    if protocol == "memory":
        raise ArtifactError(f"store {url}: ends with this process; use a folder or a URL such as s3://bucket/prefix")
    try:
        system, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        remedy = "pip install 'bigcodeflow[s3]'" if protocol in ("s3", "s3a") else error_message(error)
        raise ArtifactError(f"store {url}: the package for {protocol}:// is not installed: {remedy}") from None
    except ValueError as error:
        raise ArtifactError(
            f"store {url}: {error_message(error)}: use a folder or a URL such as s3://bucket/prefix"
        ) from None
    bucket = Bucket(url, system, root.rstrip("/"))
    bucket.objects(".probe")  # detects a wrong address, bucket or key now, not after hours of work
    return bucket


@cache
def _transient_errors() -> tuple[type[Exception], ...]:
    """Return exception types for network and server faults: OSError, and types of botocore and aiohttp if installed."""
    errors: list[type[Exception]] = [OSError]
    with suppress(ImportError):
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        errors.append(BotoCoreError)
    with suppress(ImportError):
        from aiohttp import ClientError

        errors.append(ClientError)
    return tuple(errors)


def _written_at(facts: Mapping[str, Any]) -> datetime:
    """Return an object's time of writing from fsspec's facts, whose key and type differ between file systems."""
    written = next((facts[name] for name in _TIMES if facts.get(name)), None)
    if isinstance(written, int | float):
        return datetime.fromtimestamp(written, UTC)
    try:
        moment = written if isinstance(written, datetime) else datetime.fromisoformat(str(written))
    except ValueError:
        return datetime.now(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
