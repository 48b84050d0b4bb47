"""Durable answers of a model under one setting: one line per reply; a reply counts after its sync to disk.

A folder belongs to one setting (model, address, sampling, prompt form). The number of samples is not part of the
setting, so that a run with ten samples per task does not pay for the first sample again. Each writer has a separate
file: readers ignore a line that a kill cut off, and nothing is ever appended after this line.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.core.files import AppendLog, locked, log_records
from bigcodeflow.generation.model_api import Answer, AnswerKey, Reply, Request, TokenUsage

_PATTERN = "replies-*.jsonl"
#: Time that a reply waits for other replies, to be synced together with them.
_GROUP_SECONDS = 0.05

OnWait = Callable[[str], None]
"""Function that gets a line for people, once, if this run waits for another run that holds the folder."""


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """Reply of a provider as the ledger stores it, together with the request that it answers."""

    task_id: str
    sample_indices: tuple[int, ...]
    """Samples that were answered, in the order of the answers."""
    prompt_sha: str
    template_sha: str
    seed: int | None
    body: Mapping[str, Any]
    """Body exactly as it was sent, without address and key."""
    answers: tuple[Answer, ...]
    usage: TokenUsage
    """Tokens of the whole reply, for all its samples together."""
    served_model: str | None
    request_id: str | None
    latency_seconds: float
    """Time from sending the request until the reply was complete."""
    attempts: int
    """Number of requests until this reply, including the successful request."""
    cost_usd: float | None
    """Cost of the whole reply; None if no price is known."""
    sent_at: str
    """Time of the request, ISO 8601 in UTC."""

    @classmethod
    def of(
        cls,
        request: Request,
        reply: Reply,
        *,
        body: Mapping[str, Any],
        latency_seconds: float,
        attempts: int = 1,
        cost_usd: float | None = None,
        sent_at: datetime | None = None,
    ) -> Self:
        """Make the record of a reply to ``request``; answers beyond the number of requested samples are dropped."""
        given = min(len(request.sample_indices), len(reply.answers))
        return cls(
            task_id=request.task_id,
            sample_indices=request.sample_indices[:given],
            prompt_sha=request.prompt_sha,
            template_sha=request.prompt.template_sha,
            seed=request.seed,
            body=body,
            answers=tuple(answer.without_open_thought() for answer in reply.answers[:given]),
            usage=reply.usage,
            served_model=reply.served_model,
            request_id=reply.request_id,
            latency_seconds=latency_seconds,
            attempts=attempts,
            cost_usd=cost_usd,
            sent_at=(sent_at or datetime.now(UTC)).isoformat(timespec="milliseconds"),
        )

    @property
    def keys(self) -> tuple[AnswerKey, ...]:
        return tuple(AnswerKey(self.task_id, self.prompt_sha, index) for index in self.sample_indices)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        texts = tuple(Answer(**answer) for answer in fields["answers"])
        indices = tuple(fields["sample_indices"])
        return cls(**{**fields, "sample_indices": indices, "answers": texts, "usage": TokenUsage(**fields["usage"])})


class RecordedAnswer(NamedTuple):
    key: AnswerKey
    answer: Answer
    record: ReplyRecord


@dataclass(frozen=True, slots=True)
class AnswerLedger:
    """Folder with the replies for one setting (model, prompt, sampling): many runs may read, only one may write."""

    folder: Path
    accepts_unanswerable: bool = False
    """True to read unanswerable requests as failed answers; False to skip these records and ask again."""

    def keys(self) -> set[AnswerKey]:
        return {key for fields in self._records() for key in _keys(fields)}

    def records(self) -> Iterator[ReplyRecord]:
        """Yield every complete record in the order of writing; only one record is in memory at a time."""
        return map(ReplyRecord.from_fields, self._records())

    def answers(self, wanted: Container[AnswerKey] | None = None) -> Iterator[RecordedAnswer]:
        """Yield the first recorded answer for each ``wanted`` key (None: for all keys), in the order of writing."""
        seen: set[AnswerKey] = set()
        for fields in self._records():
            new = [key for key in _keys(fields) if key not in seen and (wanted is None or key in wanted)]
            if new:
                seen.update(new)
                record = ReplyRecord.from_fields(fields)
                given = dict(zip(record.keys, record.answers, strict=True))
                yield from (RecordedAnswer(key, given[key], record) for key in new)

    @contextmanager
    def writing(self, on_wait: OnWait = lambda _: None) -> Iterator["AnswerWriter"]:
        """Lock the folder, and yield its writer.

        If another run, in this or another process, holds the folder, wait until that run has ended, and then load its
        answers: two runs of one setting never pay for the same sample. The lock of a killed run is released.
        """
        holder, lock = self.folder / "holder", self.folder / "lock"
        with ExitStack() as held:
            try:
                held.enter_context(locked(lock, blocking=False))
            except TimeoutError:
                name = holder.read_text(encoding="utf-8") if holder.exists() else "another run"
                on_wait(f"{name} asks this model with the same settings: waiting until it ends, to use its answers")
                held.enter_context(locked(lock))
            holder.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
            yield AnswerWriter(self, held)

    def _records(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self.folder.glob(_PATTERN)):
            for fields in log_records(path):
                failed = any(answer["finish_reason"] == "unanswerable" for answer in fields["answers"])
                if self.accepts_unanswerable or not failed:
                    yield fields


class AnswerWriter:
    """Writer of records to a file that no other writer uses; created by `AnswerLedger.writing`.

    After a failure the writer accepts no more records, so that nothing is ever written after an incomplete line.
    """

    def __init__(self, ledger: AnswerLedger, open_files: ExitStack) -> None:
        self.known = ledger.keys()
        """Keys of the answers in the ledger, including those that this writer added."""
        self.accepts_unanswerable = ledger.accepts_unanswerable
        self._folder, self._open_files = ledger.folder, open_files
        self._log: AppendLog | None = None
        self._failure: str | None = None

    def append(self, *records: ReplyRecord) -> None:
        """Write records and sync them to disk; raise GenerationError if a record cannot be stored."""
        for record in records:
            self.write(record)
        self.sync()

    def write(self, record: ReplyRecord) -> None:
        """Write a record, or raise GenerationError. A power failure may lose the record until `sync`; a kill cannot."""
        with self._disk():
            if self._log is None:
                # Numbered after all others, so that the order of the names is the order of writing.
                number = 1 + max((int(path.stem.split("-")[1]) for path in self._folder.glob(_PATTERN)), default=0)
                path = self._folder / f"replies-{number:06}.jsonl"
                self._log = self._open_files.enter_context(AppendLog(path, exclusive=True))
                self._log.sync_name()
            self._log.append(asdict(record))
            self.known.update(record.keys)

    def sync(self) -> None:
        """Wait until written records are on disk, or raise GenerationError; may run in another thread than `write`."""
        with self._disk():
            if self._log is not None:
                self._log.sync()

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            if self._failure is None:
                yield
        except OSError as error:
            problem = f"an answer cannot be stored ({error.strerror or error})"
            self._failure = f"{self._folder}: {problem}: check the disk and run again"
        if self._failure is not None:
            raise GenerationError(self._failure)


class GroupCommit:
    """Writer that syncs replies to disk in groups, in a thread, while further requests are open.

    A written reply survives a crash of the process, a synced reply also a crash of the machine. Progress counts only
    synced replies.
    """

    def __init__(self, writer: AnswerWriter, on_synced: Callable[[int], None]) -> None:
        """Sync the files of ``writer``; call ``on_synced`` in the event loop with the number of samples just synced."""
        self._writer, self._on_synced = writer, on_synced
        self._unsynced = 0
        self._closing = asyncio.Event()
        self._task: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task.set_result(None)

    @property
    def idle(self) -> bool:
        return self._task.done()

    @property
    def failed(self) -> bool:
        """True if syncing failed, for example because the disk is full."""
        return self._task.done() and self._task.exception() is not None

    def put(self, record: ReplyRecord) -> None:
        """Write a reply, and sync it later in a task; a cancellation cannot lose the reply, as writing never awaits."""
        self._writer.write(record)
        self._unsynced += len(record.answers)
        if self.idle:
            self._task = asyncio.get_running_loop().create_task(self._sync())
            self._task.add_done_callback(lambda _: self._on_synced(0))  # wakes the loop, which checks

    def check(self) -> None:
        """Raise the GenerationError of the last sync if this sync failed."""
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        self._closing.set()
        await asyncio.shield(self._task)

    async def _sync(self) -> None:
        while self._unsynced:
            with suppress(TimeoutError):  # wait for further replies, unless none will come
                async with asyncio.timeout(_GROUP_SECONDS):
                    await self._closing.wait()
            samples, self._unsynced = self._unsynced, 0
            await asyncio.to_thread(self._writer.sync)
            self._on_synced(samples)


def _keys(fields: Mapping[str, Any]) -> list[AnswerKey]:
    return [AnswerKey(fields["task_id"], fields["prompt_sha"], index) for index in fields["sample_indices"]]
