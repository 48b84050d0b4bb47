"""Files that are there whole or not at all, whoever writes them at the same time."""

import errno
import fcntl
import gzip
import hashlib
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_atomically(target: Path, content: bytes, *, compress: bool = False) -> Path:
    """Write a file that is there whole or not at all; gzip it without a time stamp if asked to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    aside.write_bytes(gzip.compress(content, mtime=0) if compress else content)
    aside.replace(target)
    return target


def file_sha256(path: Path) -> str:
    """Sha256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_folder_in_place(aside: Path, target: Path) -> None:
    """Rename a folder over whatever stands there; of several that do so at once, the last stays, whole."""
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an advisory lock, which ends with its process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
