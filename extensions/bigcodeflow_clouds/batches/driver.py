"""Answers from batch APIs: requests are submitted in bulk, polled, collected once, and recovered after a crash.

Paid batches are never forgotten: an intention is on disk before a batch is sent, and its ID as soon as it is known. An
intention without an ID is searched in the provider's list of batches before anything is sent again.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.answer_ledger import ReplyRecord
from bigcodeflow.generation.batches import BatchOutcome, BatchProgress, BatchRun
from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow_clouds.batches.calls import BatchCalls
from bigcodeflow_clouds.batches.log import Batch, BatchEntry, BatchLog, PendingSamples

logger = logging.getLogger("bigcodeflow.batches")  # below the logger whose lines Prefect and live runs show
_LONGEST_CUSTOM_ID = "bcf-" + "0" * 32 + "-999999"
_RECORDED_AT_ONCE = 64
_READS_OF_SHORT_RESULTS = 3


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """Settings for splitting and polling batches; these settings do not change any answer."""

    first_poll_seconds: float = 1.0
    longest_poll_seconds: float = 60.0
    """Maximum pause between two polls of a batch; pauses grow from first_poll_seconds to this value."""
    patience_seconds: float = 3600.0
    """Time after which the run stops if the provider answers no request about a batch."""
    doubt_seconds: float = 60.0
    """Time to search the provider's list for a batch whose submission was cut off, before it is sent again."""
    most_requests: int = 10_000
    """Maximum number of requests in a batch; every provider accepts more."""


@dataclass(slots=True, eq=False)
class Driver:
    api: BatchCalls
    log: BatchLog
    batch_run: BatchRun
    settings: BatchSettings
    now: Callable[[], float] = field(default_factory=lambda: asyncio.get_running_loop().time)
    pending: PendingSamples = field(default_factory=PendingSamples)
    tracked: list[Batch] = field(default_factory=list)
    recorded: int = 0
    cost_usd: float = 0.0

    @property
    def going_on(self) -> str:
        """End of a message that names the batches that still run at the provider; empty if no batch runs."""
        batches = [batch for batch in self.tracked if batch.tag in self.log.batches and not batch.over]
        ids = [batch.batch_id or "a batch whose submission was cut off" for batch in batches]
        if not ids:
            return ""
        named = ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if ids[5:] else "")
        return f"; the provider still works on batches ({named}): run the same again to collect their answers"

    def plan(self, requests: Iterable[Request]) -> None:
        """Track earlier batches that will answer some of the requests, and new batches for the remaining requests."""
        batches = self.log.batches.values()
        known = frozenset(sample for batch in batches for _, entry in batch.open_entries for sample in entry.samples)
        new = self.pending.add(requests, known)
        for batch in batches:
            batch.positions = frozenset(at for at, entry in batch.open_entries if self.pending.any_of(entry))
            if batch.positions:
                batch.doubted_since = None if batch.batch_id else self.now()
                self.tracked.append(batch)
        sized = ((request, self.api.size_bytes(_LONGEST_CUSTOM_ID, request)) for request in new)
        chunks = cut(sized, self.settings.most_requests, self.api.most_bytes)
        self.tracked += [self._new(chunk) for chunk in chunks]

    def _new(self, requests: Sequence[Request]) -> Batch:
        entries = [BatchEntry.of(request) for request in requests]
        positions = frozenset(range(len(entries)))
        return Batch(f"bcf-{uuid.uuid4().hex}", datetime.now(UTC), entries, positions=positions)

    async def run(self) -> BatchOutcome:
        """Submit and poll batches until every batch is collected or rejected; return the outcome."""
        first, longest = self.settings.first_poll_seconds, self.settings.longest_poll_seconds
        while under_way := [batch for batch in self.tracked if not batch.over]:
            batch = min(under_way, key=lambda one: one.due)
            await asyncio.sleep(max(0.0, batch.due - self.now()))
            batch.pause_seconds = min(longest, max(first, batch.pause_seconds * 1.5))
            try:
                await self._step(batch)
                if batch.doubted_since is None:
                    batch.failing_since = None
            except RequestError as error:
                self._check_patience(batch, error)
                batch.pause_seconds = max(batch.pause_seconds, error.retry_after_seconds or 0.0)
            batch.due = self.now() + batch.pause_seconds
            self.batch_run.progress(self._progress())
        return BatchOutcome(self.recorded, tuple(self.pending.left), self.cost_usd)

    async def _step(self, batch: Batch) -> None:
        if batch.batch_id:
            batch.status = await self.api.status(batch.batch_id)
            if batch.status.rejection:
                self._give_back(batch, batch.status.rejection)
            elif batch.status.ended:
                await self._collect(batch, batch.batch_id)
        elif batch.doubted_since is None:
            await self._submit(batch)
        else:
            await self._search(batch)

    def _check_patience(self, batch: Batch, error: RequestError) -> None:
        """Raise GenerationError if waiting cannot solve ``error``, or if errors last longer than patience_seconds."""
        if error.kind == "not_found" and batch.batch_id:
            raise GenerationError(
                f"the provider does not know batch {batch.batch_id} ({error}): use a key of the account that submitted "
                f"it, or remove {self.log.path}; all requests in that file are then sent, and paid, again"
            ) from None
        if not error.worth_another_try:
            no_api = error.kind == "not_found"
            hint = ": where a server has no batch API, set generation.requests.batch to false" if no_api else ""
            raise GenerationError(f"the provider's batch API refused a call: {error}{hint}{self.going_on}") from None
        batch.failing_since = self.now() if batch.failing_since is None else batch.failing_since
        if self.now() - batch.failing_since > self.settings.patience_seconds:
            raise GenerationError(
                f"the provider has not answered about a batch for {self.settings.patience_seconds:.0f} s: "
                f"{error}: run the same again later{self.going_on}"
            ) from None
        logger.info("a batch is polled again later: %s", error)

    async def _submit(self, batch: Batch) -> None:
        if batch.tag not in self.log.batches:
            self.log.intend(batch)
        named = [(batch.custom_id(at), self.pending.request(entry)) for at, entry in enumerate(batch.entries)]
        try:
            batch_id = await self.api.submit(named)
        except RequestError as error:
            if error.kind in {"bad_request", "refused"}:
                self._give_back(batch, error)
                return
            if not error.worth_another_try:
                self.log.settled(batch, batch.positions)  # it does not exist: the next run need not search for it
                batch.over = True
            elif error.kind != "rate_limited":  # it may have arrived anyway
                batch.doubted_since = self.now()
            raise
        self._confirm(batch, batch_id)

    async def _search(self, batch: Batch) -> None:
        """Search the provider for a batch whose submission was cut off; if it never arrived, make a new batch."""
        began = self.now()
        others = [other.batch_id for other in self.log.batches.values() if other.batch_id]
        found = await self.api.find(batch, others)
        if found.batch_id:
            self._confirm(batch, found.batch_id)
        elif found.undecided:
            if not batch.notified:
                self.batch_run.notify(
                    f"a submission was cut off, but may have created batch {', '.join(found.undecided)}: "
                    "the run waits until that batch ends, so that nothing is paid twice"
                )
            batch.notified = True
            batch.failing_since = None
        elif began - (batch.doubted_since or 0.0) >= self.settings.doubt_seconds:
            # It was never submitted: put its wanted requests into a new batch.
            again = self._new([self.pending.request(batch.entries[position]) for position in sorted(batch.positions)])
            again.failing_since = batch.failing_since
            self.log.settled(batch, range(len(batch.entries)))
            batch.over = True
            self.tracked.append(again)

    def _confirm(self, batch: Batch, batch_id: str) -> None:
        self.log.submitted(batch, batch_id)
        logger.info("batch %s holds %d requests", batch_id, len(batch.entries))
        batch.doubted_since, batch.pause_seconds = None, 0.0

    async def _collect(self, batch: Batch, batch_id: str) -> None:
        replies = dict[int, Reply]()
        async with aclosing(self.api.results(batch_id)) as results:
            async for custom_id, outcome in results:
                position = batch.position(custom_id)
                if position is None or position in batch.seen or position in replies:
                    continue
                if position not in batch.positions:
                    batch.seen.add(position)
                elif isinstance(outcome, RequestError):
                    batch.seen.add(position)
                    self.pending.leave(batch.entries[position], outcome)
                else:
                    replies[position] = outcome
                if len(replies) == _RECORDED_AT_ONCE:
                    await self._keep(batch, replies)
        await self._keep(batch, replies)
        batch.reads += 1
        if len(batch.seen) < batch.status.succeeded and batch.reads < _READS_OF_SHORT_RESULTS:
            raise RequestError("malformed", f"batch {batch_id} returned fewer results than it counts as finished")
        self._give_back(batch, RequestError("malformed", f"batch {batch_id} ended without a result for this request"))

    async def _keep(self, batch: Batch, replies: dict[int, Reply]) -> None:
        """Record ``replies`` (by position in the batch) in a single call, which waits for the disk; then clear them."""
        seconds = batch.status.duration_seconds
        if seconds is None:
            seconds = (datetime.now(UTC) - batch.intended_at).total_seconds()
        kept = [
            ReplyRecord.of(
                request := self.pending.request(batch.entries[position]),
                reply,
                body=self.api.provider.body(request),
                latency_seconds=seconds,
                cost_usd=self.batch_run.price and self.batch_run.price(reply.usage),
                sent_at=batch.intended_at,
            )
            for position, reply in replies.items()
            if self.pending.any_of(batch.entries[position], len(reply.answers))
        ]
        if kept:
            await asyncio.to_thread(self.batch_run.record, *kept)
        self.recorded += sum(len(one.answers) for one in kept)
        self.cost_usd += sum(one.cost_usd or 0.0 for one in kept)
        for position, reply in replies.items():
            self.pending.answer(batch.entries[position], len(reply.answers))
        batch.seen.update(replies)
        replies.clear()

    def _give_back(self, batch: Batch, error: RequestError) -> None:
        """Mark a batch as over, and leave its unanswered samples, with the error, to single requests."""
        for position in sorted(batch.positions):
            self.pending.leave(batch.entries[position], error)
        self.log.settled(batch, batch.positions)
        batch.over = True

    def _progress(self) -> BatchProgress:
        submitted = [batch for batch in self.tracked if batch.batch_id]
        running = [batch for batch in submitted if not batch.over]
        return BatchProgress(
            batches=len(submitted) + sum(not batch.over for batch in self.tracked if batch not in submitted),
            batches_ended=sum(batch.over for batch in submitted),
            completed=self.recorded + sum(batch.samples_succeeded for batch in running),
            failed=len(self.pending.left) + sum(batch.status.failed for batch in running),
        )


def cut(requests: Iterable[tuple[Request, int]], most: int, most_bytes: int) -> Iterator[list[Request]]:
    """Split (request, size) pairs into batches of at most ``most`` requests and, if possible, ``most_bytes`` bytes."""
    chunk: list[Request] = []
    filled = 0
    for request, size in requests:
        if chunk and (len(chunk) == most or filled + size > most_bytes):
            yield chunk
            chunk, filled = [], 0
        chunk.append(request)
        filled += size
    if chunk:
        yield chunk
