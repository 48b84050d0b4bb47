"""Durable log of the batches of a setting: each event is a line in `batches.jsonl`.

- `intended`: the batch's tag, the time, and the samples of each entry (request); on disk before anything is sent.
- `submitted`: the provider's ID of the batch with this tag.
- `settled`: entries whose answer is recorded, or that will be asked as single requests.

A batch that is intended but has no ID may or may not exist at the provider. The log contains no prompts, answers or
API keys.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.core.files import AppendLog
from bigcodeflow.generation.batches import Left
from bigcodeflow.generation.model_api import AnswerKey, Request, RequestError
from bigcodeflow.generation.retries import narrowed

FILE_NAME = "batches.jsonl"


class BatchEntry(NamedTuple):
    """Fields of a request that the log keeps, so that the answer in the batch's results can be assigned later."""

    task_id: str
    prompt_sha: str
    sample_indices: tuple[int, ...]
    seed: int | None

    @classmethod
    def of(cls, request: Request) -> Self:
        return cls(request.task_id, request.prompt_sha, request.sample_indices, request.seed)

    @property
    def samples(self) -> list[AnswerKey]:
        return [AnswerKey(self.task_id, self.prompt_sha, index) for index in self.sample_indices]


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """Progress of a batch, as the provider states it."""

    ended: bool
    """True if no more results will come, so that the results can be collected."""
    succeeded: int = 0
    failed: int = 0
    """Refused, failed, expired or cancelled requests; some providers count them only after the batch has ended."""
    duration_seconds: float | None = None
    """Time from submission to the end; None if the batch has not ended or the provider does not state it."""
    rejection: RequestError | None = None
    """Reason why the provider accepted none of the requests, such as a queue that is too short for the batch."""


@dataclass(slots=True, eq=False)
class Batch:
    """A batch: fields up to ``settled`` come from the log; later fields are its state in this run."""

    tag: str
    intended_at: datetime
    entries: Sequence[BatchEntry]
    batch_id: str | None = None
    settled: set[int] = field(default_factory=set)
    """Positions of entries that are finished."""

    positions: frozenset[int] = frozenset()
    """Positions of the entries whose answers this run needs."""
    due: float = 0.0
    """Time of the next poll, by the event loop's clock."""
    pause_seconds: float = 0.0
    doubted_since: float | None = None
    """Time, by the event loop's clock, since which it is unknown if the provider has the batch; None if known."""
    failing_since: float | None = None
    status: BatchStatus = BatchStatus(ended=False)
    seen: set[int] = field(default_factory=set)
    """Positions of entries whose result was read."""
    reads: int = 0
    notified: bool = False
    """True if the user was notified that the run waits for batches that may be this batch."""
    over: bool = False

    def custom_id(self, position: int) -> str:
        return f"{self.tag}-{position}"

    def position(self, custom_id: str) -> int | None:
        """Return the position of the entry with a custom ID; None if the ID does not belong to this batch."""
        tag, _, number = custom_id.rpartition("-")
        known = tag == self.tag and number.isdecimal() and int(number) < len(self.entries)
        return int(number) if known else None

    @property
    def samples_succeeded(self) -> int:
        """Estimated number of answered samples: answered requests times mean samples per request."""
        return round(self.status.succeeded * sum(len(entry.samples) for entry in self.entries) / len(self.entries))

    @property
    def open_entries(self) -> Iterator[tuple[int, BatchEntry]]:
        return ((at, entry) for at, entry in enumerate(self.entries) if at not in self.settled)


class BatchLog:
    """Log of the batches in a folder, used by a single run at a time; created by `open_batch_log`."""

    def __init__(self, log: AppendLog) -> None:
        self.path = log.path
        self._log = log
        self.batches: dict[str, Batch] = {}
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):  # a kill cut off the last line: remove it, so that the next line is valid
            os.truncate(log.descriptor, whole)
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise GenerationError(
                    f"{self.path}, line {number}: is damaged, so paid batches may be unknown: restore the file, or "
                    "remove it; all requests of the batches in the file are then sent, and paid, again"
                ) from None

    def intend(self, batch: Batch) -> None:
        batch.intended_at = datetime.now(UTC)
        at = batch.intended_at.isoformat()
        self._note({"event": "intended", "tag": batch.tag, "at": at, "entries": batch.entries})
        self.batches[batch.tag] = batch

    def submitted(self, batch: Batch, batch_id: str) -> None:
        self._note({"event": "submitted", "tag": batch.tag, "batch_id": batch_id})

    def settled(self, batch: Batch, positions: Iterable[int]) -> None:
        if done := sorted(set(positions) - batch.settled):
            self._note({"event": "settled", "tag": batch.tag, "positions": done})

    def _note(self, event: dict[str, Any]) -> None:
        self._log.append(event)
        self._log.sync()
        self._apply(event)

    def _apply(self, event: dict[str, Any]) -> None:
        tag = event["tag"]
        match event["event"]:
            case "intended":
                entries = [BatchEntry(task, sha, tuple(indices), seed) for task, sha, indices, seed in event["entries"]]
                self.batches[tag] = Batch(tag, datetime.fromisoformat(event["at"]), entries)
            case "submitted":
                self.batches[tag].batch_id = event["batch_id"]
            case "settled":
                self.batches[tag].settled.update(event["positions"])
            case unknown:
                raise ValueError(unknown)


@contextmanager
def open_batch_log(folder: Path) -> Iterator[BatchLog]:
    """Open and yield the log of a folder, created if it is missing; the caller must hold the answer ledger's lock."""
    with AppendLog(folder / FILE_NAME) as log:
        log.sync_name()
        yield BatchLog(log)


class PendingSamples:
    """Samples that still wait for an answer from a batch; ``left`` holds samples left to single requests."""

    def __init__(self) -> None:
        self.left: list[Left] = []
        self._requests: dict[AnswerKey, Request] = {}

    def add(self, requests: Iterable[Request], known: frozenset[AnswerKey]) -> list[Request]:
        """Add the samples of the requests; return requests for samples that are in no earlier batch (``known``)."""
        new = []
        for request in requests:
            samples = [sample for sample in request.keys if sample not in self._requests]
            self._requests.update(dict.fromkeys(samples, request))
            fresh = [sample.sample_index for sample in samples if sample not in known]
            new += [job.request for job in narrowed(request, fresh)]
        return new

    def any_of(self, entry: BatchEntry, answers: int | None = None) -> bool:
        """Tell if any of the first ``answers`` samples of an entry (None: of all samples) still needs an answer."""
        return any(sample in self._requests for sample in entry.samples[:answers])

    def request(self, entry: BatchEntry) -> Request:
        """Return the request for an entry; at least one sample of the entry must still need an answer."""
        wanted = next(self._requests[sample] for sample in entry.samples if sample in self._requests)
        return replace(wanted, sample_indices=entry.sample_indices, seed=entry.seed)

    def answer(self, entry: BatchEntry, answers: int) -> None:
        """Remove the first ``answers`` samples of an entry, which are answered; leave the rest to single requests."""
        for sample in entry.samples[:answers]:
            self._requests.pop(sample, None)
        self.leave(entry, RequestError("malformed", "the reply holds fewer answers than were requested"))

    def leave(self, entry: BatchEntry, error: RequestError) -> None:
        """Leave the unanswered samples of an entry to single requests, with the error as the reason."""
        if rest := [sample for sample in entry.samples if self._requests.pop(sample, None)]:
            self.left.append(Left(rest, error))
