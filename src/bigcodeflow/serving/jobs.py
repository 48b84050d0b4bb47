"""The queue of a service: equal work is executed once, each batch has its turn, what nobody waits for is taken back.

Everything here happens in one event loop; only the executions themselves run in the workshop's threads.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.execution.backends.base import NOT_STARTED, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote.executor_pool import Kind, Workshop
from bigcodeflow.execution.remote.protocol import ALIVE_SECONDS
from bigcodeflow.execution.verdicts import worth_repeating

#: How long what ended is kept for a client that lost its connection and asks again, and how much of it.
_KEPT_SECONDS = 600.0
_KEPT_BYTES = 256 << 20
#: Different limits and starts of all open batches: each keeps a warm sandbox of its own.
_MOST_KINDS = 8
#: Executions after which a kill from nowhere is taken for the program's own doing.
ATTEMPTS = 5


class BusyError(ExecutionError):
    """There is no room now; later there will be."""


class StoppingError(ExecutionError):
    """Nothing new is begun any more."""


class Finished(NamedTuple):
    """How an item ended."""

    outcome: Outcome
    attempts: int


class _Job:
    """One execution, which one or several batches wait for."""

    def __init__(self, item: WorkItem, kind: Kind, attempts: int) -> None:
        self.item, self.kind, self.attempts = item, kind, attempts
        self.listeners: list[Batch] = []
        self.begun = self.withdrawn = False
        self.finished: Finished | None = None
        self.ended_at = 0.0
        self.size_bytes = 0


class Batch:
    """Places in the queue that one request holds."""

    def __init__(self, count: int, kind: Kind) -> None:
        self.count, self.kind = count, kind
        self.ended: asyncio.Queue[_Job] = asyncio.Queue()
        self.names: dict[str, list[str]] = {}
        """The client's names of each execution."""
        self.jobs: list[_Job] = []

    async def results(self) -> AsyncIterator[tuple[str, Finished] | None]:
        """Each item's name and end, as they come; None is a sign of life. What was taken back is left out."""
        left = len(self.jobs)
        while left:
            try:
                async with asyncio.timeout(ALIVE_SECONDS):
                    job = await self.ended.get()
            except TimeoutError:
                yield None
                continue
            left -= 1
            if job.finished:
                for name in self.names[job.item.verdict_key]:
                    yield name, job.finished


class Jobs:
    """All work of a service."""

    def __init__(self, workshop: Workshop, *, max_queue: int) -> None:
        """Nothing is begun yet.

        Args:
            workshop: where items are executed.
            max_queue: items that wait or run at the same time.
        """
        self._workshop, self._max_queue = workshop, max_queue
        self._jobs: dict[str, _Job] = {}
        self._ended: OrderedDict[str, _Job] = OrderedDict()
        self._ended_bytes = 0
        self._queues: deque[deque[_Job]] = deque()
        self._kinds: Counter[Kind] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self.open_items = 0
        self.executions = 0
        self.stopping = False

    def reserve(self, count: int, kind: Kind) -> Batch:
        """Places for so many items; to be given back with ``release``.

        Raises:
            StoppingError: the service ends.
            BusyError: there are not so many places left.
        """
        if self.stopping:
            raise StoppingError("the service is stopping: send the batch again when it is back")
        if self.open_items + count > self._max_queue:
            raise BusyError(
                f"{self.open_items} items wait or run, and {self._max_queue} may: send the {count} again later"
            )
        if kind not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            raise BusyError(f"items under {_MOST_KINDS} different limits wait or run already: send these again later")
        self.open_items += count
        self._kinds[kind] += 1
        return Batch(count, kind)

    def begin(self, batch: Batch, items: Sequence[tuple[str, WorkItem]], attempts: int) -> None:
        """Queue what is new of a batch, and have it told of everything.

        Args:
            batch: whose places they take.
            items: name and work of each; equal verdict keys are one execution.
            attempts: executions of one that was disturbed from outside.
        """
        self._forget()
        new: deque[_Job] = deque()
        for name, item in items:
            key = item.verdict_key
            batch.names.setdefault(key, []).append(name)
            if len(batch.names[key]) > 1:
                continue
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = _Job(item, batch.kind, attempts)
                new.append(job)
            batch.jobs.append(job)
            if job.finished or self.stopping:
                batch.ended.put_nowait(job)
            else:
                job.listeners.append(batch)
        if new:
            self._queues.append(new)
        self._pump()

    def release(self, batch: Batch) -> None:
        """Give the places back; what has not begun and nobody else waits for is not begun any more."""
        self.open_items -= batch.count
        self._kinds -= Counter([batch.kind])
        for job in batch.jobs:
            if batch in job.listeners:
                job.listeners.remove(batch)
            if not (job.listeners or job.begun):
                self._withdraw(job)

    def drain(self) -> None:
        """Begin nothing any more; what runs may end."""
        self.stopping = True
        for job in [job for queue in self._queues for job in queue if not job.withdrawn]:
            self._withdraw(job)
            for batch in job.listeners:
                batch.ended.put_nowait(job)
        self._queues.clear()

    def _withdraw(self, job: _Job) -> None:
        job.withdrawn = True
        if self._jobs.get(job.item.verdict_key) is job:
            del self._jobs[job.item.verdict_key]

    def _pump(self) -> None:
        """Begin as much as there are slots for, one of each batch in turn: a small one does not wait for a large."""
        while len(self._tasks) < self._workshop.slots and self._queues and not self.stopping:
            queue = self._queues.popleft()
            job = queue.popleft()
            if queue:
                self._queues.append(queue)
            if job.withdrawn:
                continue
            job.begun = True
            task = asyncio.create_task(self._execute(job))
            self._tasks.add(task)
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._pump()

    async def _execute(self, job: _Job) -> None:
        for attempt in range(1, job.attempts + 1):
            self.executions += 1
            outcome = await self._outcome(job)
            job.finished = Finished(outcome, attempt)
            if self.stopping or not worth_repeating(outcome):
                break
        self._keep(job)
        for batch in job.listeners:
            batch.ended.put_nowait(job)
        job.listeners = []

    async def _outcome(self, job: _Job) -> Outcome:
        done = asyncio.wrap_future(self._workshop.submit(job.item, job.kind))
        await asyncio.wait([done])
        error = done.exception()
        # Whatever this machine lacks, such as descriptors, the program did not cause it and must not fail for it.
        return Outcome(exit=f"{NOT_STARTED}the service met {error!r}: see its log") if error else done.result()

    def _keep(self, job: _Job) -> None:
        """Keep an end for who asks again; one that says nothing of the program is not worth it."""
        key = job.item.verdict_key
        if job.finished is None or worth_repeating(job.finished.outcome):
            del self._jobs[key]
            return
        outcome = job.finished.outcome
        job.ended_at = time.monotonic()
        job.size_bytes = len(outcome.stdout) + len(outcome.stderr) + sum(map(len, map(repr, outcome.frames)))
        job.size_bytes += len(job.item.program) + len(job.item.test)
        self._ended[key] = job
        self._ended_bytes += job.size_bytes
        self._forget()

    def _forget(self) -> None:
        long_ago = time.monotonic() - _KEPT_SECONDS
        while self._ended:
            key, oldest = next(iter(self._ended.items()))
            if oldest.ended_at > long_ago and self._ended_bytes <= _KEPT_BYTES:
                return
            del self._ended[key], self._jobs[key]
            self._ended_bytes -= oldest.size_bytes
