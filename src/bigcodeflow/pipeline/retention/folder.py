"""Removing from a store in a folder: a thing is taken away by one rename, then deleted."""

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from bigcodeflow.pipeline.retention.things import MANIFEST, Entry, Removable

_LOCK = "lock"


class FolderPlace:
    """A store in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def entries(self, folder: str) -> Iterator[Entry]:
        """What is in a folder of the store, by name."""
        for path in sorted((self._root / folder).glob("*")):
            if path.is_dir() or path.suffix:
                yield Entry(f"{folder}/{path.name}", torn=False, size_bytes=_size(path), last_used_at=_last_used(path))

    def remove(self, one: Removable, limit: datetime) -> bool:
        """Take one thing away in a single step, then delete it; false where somebody has used it meanwhile."""
        path = self._root / one.name
        if one.kind == "run record":
            path.unlink(missing_ok=True)
            return True
        if one.kind == "answers":
            return remove_answers(path)
        if _last_used(path) >= limit:
            return False
        aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.old")
        try:
            path.rename(aside)
        except FileNotFoundError:
            return False  # published, removed or displaced meanwhile
        if _last_used(aside) >= limit:
            # Found by a run between the last look and the renaming: it goes back, unless that run has made it anew.
            with suppress(OSError):
                aside.rename(path)
            return False
        shutil.rmtree(aside, ignore_errors=True) if aside.is_dir() else aside.unlink(missing_ok=True)
        return True


def remove_answers(folder: Path) -> bool:
    """Remove a setting's answers under their own lock, which a run of this machine that asks holds."""
    with (folder / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder, ignore_errors=True)
    return True


def _last_used(path: Path) -> datetime:
    """An artifact's manifest is touched when it is found; of anything else the newest file tells."""
    manifest = path / MANIFEST
    files = [manifest] if manifest.exists() else _files(path)
    return datetime.fromtimestamp(max(map(_modified, files), default=0.0), UTC)


def _size(path: Path) -> int:
    total = 0
    for file in _files(path):
        with suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def _files(path: Path) -> Iterator[Path]:
    """The thing itself and every file below it."""
    yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
