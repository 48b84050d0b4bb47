"""Files that are complete or absent, even with concurrent writers; append-only logs, and locks between processes."""

import errno
import gzip
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from filelock import FileLock


def write_atomically(target: Path, content: bytes, *, compress: bool = False) -> Path:
    """Write a file so that it is complete or absent at any time; with ``compress``, gzip it without a time stamp."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    aside.write_bytes(gzip.compress(content, mtime=0) if compress else content)
    aside.replace(target)
    return target


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_of(path: Path) -> bytes | None:
    """Return the content of a file; None if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder to write into, and let it replace ``target`` at the end; the last of several writers wins."""
    aside = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
    aside.mkdir(parents=True)
    try:
        yield aside
        while True:
            try:
                aside.replace(target)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            else:
                return
            displaced = target.with_name(f"{target.name}.{uuid.uuid4().hex}.old")
            with suppress(FileNotFoundError):  # another writer displaced it first
                target.replace(displaced)
            shutil.rmtree(displaced, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def locked(path: Path, *, blocking: bool = True) -> Iterator[None]:
    """Hold a file lock in a with block; if another process holds it, wait if ``blocking``, else raise TimeoutError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without flock, filelock would treat a file's existence as a lock, which outlives a killed process.
    with FileLock(path, blocking=blocking, fallback_to_soft=False):
        yield


class AppendLog:
    """Log file of JSON lines with a single writer; a line counts once its line break is written.

    A killed process loses no appended line. A power failure may lose lines appended after the last `sync`.
    """

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        """Open the file; create it and its folder if missing; with `exclusive` the file must not exist yet."""
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | (os.O_EXCL if exclusive else 0)
        self.path, self.descriptor = path, os.open(path, flags, 0o644)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record as a line. After an OSError, the last line may be incomplete: append nothing more."""
        line = memoryview(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        while line:
            line = line[os.write(self.descriptor, line) :]

    def sync(self) -> None:
        """Wait until all appended lines are on the disk; `append` may run in another thread meanwhile."""
        os.fdatasync(self.descriptor)

    def sync_name(self) -> None:
        """Sync the folder, so that a power failure does not lose the name of a new file."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


def log_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a log's complete lines; skip lines that a kill or a power failure damaged."""
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return  # is being written right now, or never will be
            with suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict):
                    yield record
