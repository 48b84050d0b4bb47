"""What is known of the batches of a setting, durable before it is acted upon: one line an event in `batches.jsonl`.

- `intended`: a tag, the time, and the samples of each entry; written before anything is sent.
- `submitted`: the provider's id of a tag's batch.
- `settled`: entries whose answer is recorded, or which were given back to be asked singly.

An intention without an id is a batch that may or may not exist at the provider. Neither prompts, answers nor keys
stand here.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.exchange import Request

FILE_NAME = "batches.jsonl"


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of a batch, as far as it is needed to know its answer again."""

    task_id: str
    prompt_sha: str
    sample_indices: tuple[int, ...]
    seed: int | None

    @classmethod
    def of(cls, request: Request) -> Self:
        """The entry of a request."""
        return cls(request.task_id, request.prompt_sha, request.sample_indices, request.seed)

    @property
    def samples(self) -> Iterator[tuple[str, str, int]]:
        """Task, prompt and number of each sample that is asked for."""
        return ((self.task_id, self.prompt_sha, index) for index in self.sample_indices)


@dataclass(slots=True)
class LoggedBatch:
    """A batch with what became of it so far."""

    tag: str
    intended_at: datetime
    entries: Sequence[Entry]
    batch_id: str | None = None
    settled: set[int] = field(default_factory=set)
    """Positions of entries that are done with."""

    def custom_id(self, position: int) -> str:
        """What the provider knows an entry by."""
        return f"{self.tag}-{position}"

    def position(self, custom_id: str) -> int | None:
        """The entry that a custom id stands for; None where it is none of this batch's."""
        tag, _, number = custom_id.rpartition("-")
        known = tag == self.tag and number.isdecimal() and int(number) < len(self.entries)
        return int(number) if known else None

    @property
    def open_entries(self) -> Iterator[tuple[int, Entry]]:
        """Position and entry of what is not done with."""
        return ((at, entry) for at, entry in enumerate(self.entries) if at not in self.settled)


class BatchLog:
    """The batches of one folder, held by one process at a time; made by `open_batch_log`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.batches: dict[str, LoggedBatch] = {}
        for number, line in enumerate(self._whole_lines(), start=1):
            self._replay(number, line)

    def intend(self, tag: str, entries: Sequence[Entry]) -> LoggedBatch:
        """Note that a batch is about to be submitted."""
        batch = LoggedBatch(tag, datetime.now(UTC), entries)
        rows = [[entry.task_id, entry.prompt_sha, entry.sample_indices, entry.seed] for entry in entries]
        self._append({"event": "intended", "tag": tag, "at": batch.intended_at.isoformat(), "entries": rows})
        self.batches[tag] = batch
        return batch

    def submitted(self, batch: LoggedBatch, batch_id: str) -> None:
        """Note the id that the provider gave."""
        self._append({"event": "submitted", "tag": batch.tag, "batch_id": batch_id})
        batch.batch_id = batch_id

    def settled(self, batch: LoggedBatch, positions: Iterable[int]) -> None:
        """Note entries that are done with."""
        done = sorted(set(positions) - batch.settled)
        if done:
            self._append({"event": "settled", "tag": batch.tag, "positions": done})
            batch.settled.update(done)

    def _append(self, event: dict[str, Any]) -> None:
        data = memoryview(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)

    def _whole_lines(self) -> list[bytes]:
        """All lines; one that a kill tore in two is cut off, so that the next one begins where it should."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self._descriptor, whole)
        return content[:whole].splitlines()

    def _replay(self, number: int, line: bytes) -> None:
        try:
            event = json.loads(line)
            tag = event["tag"]
            match event["event"]:
                case "intended":
                    entries = [Entry(task, sha, tuple(indices), seed) for task, sha, indices, seed in event["entries"]]
                    self.batches[tag] = LoggedBatch(tag, datetime.fromisoformat(event["at"]), entries)
                case "submitted":
                    self.batches[tag].batch_id = event["batch_id"]
                case "settled":
                    self.batches[tag].settled.update(event["positions"])
                case _:
                    raise self._damaged(number)
        except (ValueError, KeyError, TypeError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> GenerationError:
        return GenerationError(
            f"{self.path}, line {number}: is damaged, so that batches which are paid for could be lost: "
            "restore the file, or remove it to ask again for what they hold"
        )


@contextmanager
def open_batch_log(folder: Path) -> Iterator[BatchLog]:
    """The log of a folder, which is made where it is missing.

    Raises:
        GenerationError: another process holds it, or a line of it is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GenerationError(
                f"{path}: another run collects these batches: wait for it to end, then run this again"
            ) from None
        _sync_folder(folder)
        yield BatchLog(path, descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make the file's name as durable as its lines."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
