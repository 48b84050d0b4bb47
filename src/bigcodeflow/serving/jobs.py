"""The queue of a service: equal items are executed once, batches take turns, items without a client are withdrawn.

All of it runs in one event loop; only the executions run in the pool's threads.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import NamedTuple

from bigcodeflow.execution.backends.base import NOT_STARTED, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.execution.remote.protocol import ALIVE_SECONDS
from bigcodeflow.execution.verdicts import worth_repeating
from bigcodeflow.serving.request_parsing import busy

#: How long, and how much, finished work is kept for a client that lost its connection and asks again.
_KEPT_SECONDS = 600.0
_KEPT_BYTES = 256 << 20
#: Different limits and starts of all open batches: each keeps a warm sandbox of its own.
_MAX_MODES = 8
#: After so many executions a kill from outside is taken for the program's own doing.
ATTEMPTS = 5


class FinishedExecution(NamedTuple):
    """How an item ended."""

    outcome: Outcome
    attempts: int


class _Job:
    """One execution, which one or more batches wait for."""

    def __init__(self, item: WorkItem, mode: ExecutionMode, attempts: int) -> None:
        self.item, self.mode, self.attempts = item, mode, attempts
        self.listeners: list[Reservation] = []
        self.begun = self.withdrawn = False
        self.finished: FinishedExecution | None = None
        self.ended_at = 0.0
        self.size_bytes = 0


class Reservation:
    """Places in the queue that one request holds."""

    def __init__(self, count: int, mode: ExecutionMode) -> None:
        self.count, self.mode = count, mode
        self.ended: asyncio.Queue[_Job] = asyncio.Queue()
        self.names: dict[str, list[str]] = {}
        """The client's names of each execution."""
        self.jobs: list[_Job] = []

    async def results(self) -> AsyncIterator[tuple[str, FinishedExecution] | None]:
        """Name and end of each item as they come, without withdrawn ones; None is a sign of life."""
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


class JobQueue:
    """All work of a service."""

    def __init__(self, pool: ExecutorPool, *, max_queue: int) -> None:
        """Begin nothing yet; ``max_queue`` bounds the items that wait or run at the same time."""
        self._pool, self._max_queue = pool, max_queue
        self._jobs: dict[str, _Job] = {}
        self._ended: OrderedDict[str, _Job] = OrderedDict()
        self._ended_bytes = 0
        self._queues: deque[deque[_Job]] = deque()
        self._modes: Counter[ExecutionMode] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self.open_items = 0
        self.executions = 0
        self.stopping = False

    def reserve(self, count: int, mode: ExecutionMode) -> Reservation:
        """Places for so many items, to be given back with ``release``; refused where there are not so many left."""
        if self.stopping:
            stopping = "the service is stopping: send the batch again when it is back"
            raise busy(stopping, HTTPStatus.SERVICE_UNAVAILABLE)
        if self.open_items + count > self._max_queue:
            raise busy(f"{self.open_items} items wait or run, and {self._max_queue} may: send the {count} again later")
        if mode not in self._modes and len(self._modes) >= _MAX_MODES:
            raise busy(f"items under {_MAX_MODES} different limits wait or run already: send these again later")
        self.open_items += count
        self._modes[mode] += 1
        return Reservation(count, mode)

    def begin(self, reservation: Reservation, items: Sequence[tuple[str, WorkItem]], attempts: int) -> None:
        """Queue what is new of a batch, and have the reservation receive the end of each item.

        Args:
            reservation: whose places they take.
            items: name and work of each; equal verdict keys are one execution.
            attempts: executions of one that was disturbed from outside.
        """
        self._drop_old()
        new: deque[_Job] = deque()
        for name, item in items:
            key = item.verdict_key
            reservation.names.setdefault(key, []).append(name)
            if len(reservation.names[key]) > 1:
                continue
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = _Job(item, reservation.mode, attempts)
                new.append(job)
            reservation.jobs.append(job)
            if job.finished or self.stopping:
                reservation.ended.put_nowait(job)
            else:
                job.listeners.append(reservation)
        if new:
            self._queues.append(new)
        self._begin_waiting()

    def release(self, reservation: Reservation) -> None:
        """Give the places back; withdraws what has not begun and no other batch waits for."""
        self.open_items -= reservation.count
        self._modes -= Counter([reservation.mode])
        for job in reservation.jobs:
            if reservation in job.listeners:
                job.listeners.remove(reservation)
            if not (job.listeners or job.begun):
                self._withdraw(job)

    def drain(self) -> None:
        """Begin nothing more; let running items end."""
        self.stopping = True
        for job in [job for queue in self._queues for job in queue if not job.withdrawn]:
            self._withdraw(job)
            for reservation in job.listeners:
                reservation.ended.put_nowait(job)
        self._queues.clear()

    def _withdraw(self, job: _Job) -> None:
        job.withdrawn = True
        if self._jobs.get(job.item.verdict_key) is job:
            del self._jobs[job.item.verdict_key]

    def _begin_waiting(self) -> None:
        """Begin what there are slots for, one of each batch in turn: a small one does not wait for a large one."""
        while len(self._tasks) < self._pool.slots and self._queues and not self.stopping:
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
        self._begin_waiting()

    async def _execute(self, job: _Job) -> None:
        for attempt in range(1, job.attempts + 1):
            self.executions += 1
            done = asyncio.wrap_future(self._pool.submit(job.item, job.mode))
            await asyncio.wait([done])
            error = done.exception()
            # The program did not cause it, such as a lack of file descriptors, and must not fail for it.
            lacking = f"{NOT_STARTED}the service met {error!r}: see its log"
            outcome = Outcome(exit=lacking) if error else done.result()
            job.finished = FinishedExecution(outcome, attempt)
            if self.stopping or not worth_repeating(outcome):
                break
        if worth_repeating(outcome):  # it says nothing of the program, and is not kept
            del self._jobs[job.item.verdict_key]
        else:
            job.ended_at = time.monotonic()
            job.size_bytes = len(outcome.stdout) + len(outcome.stderr) + sum(map(len, map(repr, outcome.frames)))
            job.size_bytes += len(job.item.program) + len(job.item.test)
            self._ended[job.item.verdict_key] = job
            self._ended_bytes += job.size_bytes
            self._drop_old()
        for reservation in job.listeners:
            reservation.ended.put_nowait(job)
        job.listeners = []

    def _drop_old(self) -> None:
        long_ago = time.monotonic() - _KEPT_SECONDS
        while self._ended:
            key, oldest = next(iter(self._ended.items()))
            if oldest.ended_at > long_ago and self._ended_bytes <= _KEPT_BYTES:
                return
            del self._ended[key], self._jobs[key]
            self._ended_bytes -= oldest.size_bytes
