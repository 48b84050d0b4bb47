"""Logs of unfinished work, copied to a bucket, so that another machine can continue.

Every few seconds the new lines of a folder's files become one immutable object, a segment, named by origin (an id of
the folder on its machine) and number. A machine restores the segments of all other origins as separate files.
"""

import json
import logging
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import locked, write_atomically
from bigcodeflow.store import LogFiles
from bigcodeflow_buckets.bucket import Bucket

logger = logging.getLogger(f"bigcodeflow.{__name__}")

#: Time between two segments: at most this much work is lost with a machine.
SECONDS_BETWEEN_SEGMENTS = 5.0
_STATE = ".kept.json"
_LOCK = ".kept.lock"
_DOWNLOADS_AT_ONCE = 8


@dataclass
class _State:
    """State of a folder's copy in the bucket, kept in a file next to the logs, so that no line is sent twice."""

    origin: str = field(default_factory=lambda: uuid.uuid4().hex)
    segments: int = 0
    offsets: dict[str, int] = field(default_factory=dict)  # bytes of each file that are in segments


class LogSync:
    """Context that downloads log lines of other machines at its start, then copies new local lines to the bucket."""

    def __init__(
        self, bucket: Bucket, folder: Path, name: str, files: LogFiles, *, seconds: float = SECONDS_BETWEEN_SEGMENTS
    ) -> None:
        """Take the folder's `name` in the store, and the `seconds` between two copies of new lines."""
        self._bucket, self._folder, self._name, self._seconds = bucket, folder, name, seconds
        self._pattern, self._restored = files.value
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._save_repeatedly, name="bigcodeflow-log-sync", daemon=True)

    def __enter__(self) -> Self:
        self.restore()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Save the remaining lines; if that fails, raise ArtifactError, or log it if another exception is active."""
        self._over.set()
        self._thread.join()
        try:
            self.save()
        except ArtifactError as error:
            if kind is None:
                raise
            logger.warning("the last finished work is kept on this machine only, not in the store: %s", error)

    def restore(self) -> None:
        """Download segments (objects with log lines) that other machines wrote and this machine lacks."""
        found = {name: facts.size_bytes for name, facts in self._bucket.objects(self._name).items() if "/" not in name}
        if not found:
            return
        with locked(self._folder / _LOCK):
            state = self._state()
            foreign = {name: size for name, size in found.items() if not name.startswith(state.origin)}
            if "{}" in self._restored:
                with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE, "bigcodeflow-log-sync") as pool:
                    list(pool.map(self._download, foreign, foreign.values()))
            elif foreign and not (self._folder / self._restored).exists():
                content = b"".join(self._bucket.read(f"{self._name}/{name}") or b"" for name in foreign)
                write_atomically(self._folder / self._restored, content)
                state.offsets[self._restored] = len(content)
                self._remember(state)

    def _download(self, name: str, size_bytes: int) -> None:
        path = self._folder / self._restored.format(name)
        if path.is_file() and path.stat().st_size == size_bytes:
            return
        if content := self._bucket.read(f"{self._name}/{name}"):
            write_atomically(path, content)

    def save(self) -> None:
        """Write all new lines of the folder's files to the bucket, as one new object (a segment)."""
        if not self._folder.is_dir():
            return  # another process of this run has published
        with locked(self._folder / _LOCK):
            state, content = self._state(), b""
            prefix, several, _ = self._restored.partition("{}")
            for path in sorted(self._folder.glob(self._pattern)):
                name = path.relative_to(self._folder).as_posix()
                if several and name.startswith(prefix):
                    continue  # is a segment of another machine
                offset = state.offsets.get(name, 0)
                new = _whole_lines_after(path, offset)
                state.offsets[name] = offset + len(new)
                content += new
            if not content:
                return
            self._bucket.write(f"{self._name}/{state.origin}-{state.segments:06}.jsonl", content)
            state.segments += 1
            self._remember(state)

    def _save_repeatedly(self) -> None:
        has_warned = False
        while not self._over.wait(self._seconds):
            try:
                self.save()
                has_warned = False
            except ArtifactError as error:
                if not has_warned:
                    logger.warning("finished work is kept on this machine only, until the store accepts it: %s", error)
                has_warned = True

    def _state(self) -> _State:
        try:
            return _State(**json.loads((self._folder / _STATE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            state = _State()
            self._remember(state)  # before its first segment, so that a killed process continues under the same origin
            return state

    def _remember(self, state: _State) -> None:
        write_atomically(self._folder / _STATE, json.dumps(asdict(state)).encode())


def _whole_lines_after(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read()
    except FileNotFoundError:
        return b""
    return content[: content.rfind(b"\n") + 1]
