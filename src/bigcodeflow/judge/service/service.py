"""The service without its HTTP routes: batches are parsed, planned, queued, executed and judged.

The queue executes equal items once, lets batches take turns, and withdraws items whose clients have left. It runs in
one event loop; parsing, planning, checks and executions run in threads.
"""

import asyncio
import hashlib
import json
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

from bigcodeflow.core.calibration import stub_program
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import NOT_STARTED, Capabilities, Outcome
from bigcodeflow.judge.integrity.checks import UNCHECKED, CheckResult, Pass, applied, check_passes
from bigcodeflow.judge.integrity.contradictions import Contradictions, Reference
from bigcodeflow.judge.items import WorkItem, task_row
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.judge.service import request_parsing
from bigcodeflow.judge.service.request_parsing import ParsedBatch, ParsedItem, ServingSettings, busy
from bigcodeflow.judge.verdicts import pass_share, verdict, worth_repeating

#: Longest time and most bytes that finished work is kept for a client that lost its connection and asks again.
_KEPT_SECONDS = 600.0
_KEPT_BYTES = 256 << 20
#: Most different modes (limits and start) of all open batches: each mode keeps a separate warm sandbox.
_MAX_MODES = 8
#: Most executions of an item; a kill in all of them counts as caused by the program.
_ATTEMPTS = 5
#: Memory for request bodies, as a number of bodies of the largest size.
_BODIES = 8
#: Number of checks of passes that run at the same time; each runs several executions.
_CHECKS_AT_ONCE = 4
_Parsed = TypeVar("_Parsed")


def stopping() -> request_parsing.RequestRefusedError:
    """Return the error that refuses a request because the service is stopping."""
    return busy("the service is stopping: send the request again later", HTTPStatus.SERVICE_UNAVAILABLE)


class ByteBudget:
    """Limit of the memory that the bodies of all open requests use together."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, count: int) -> None:
        """Count bytes that arrived; raise RequestRefusedError if the total exceeds the limit."""
        if count > self._left:
            raise busy("the open requests use all memory that is allowed for requests: send this request again later")
        self._left -= count

    def give(self, count: int) -> None:
        self._left += count


class Job:
    """Execution for whose outcome one or more items wait."""

    def __init__(self, item: WorkItem, mode: ExecutionMode, max_attempts: int) -> None:
        self.item, self.mode, self.max_attempts = item, mode, max_attempts
        self.waiting = 0  # items of all batches
        self.task: asyncio.Task[None] | None = None  # once it has begun
        self.done: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        """Outcome of the execution; None if the execution was withdrawn."""
        self.attempts = 0
        self.ended_at = 0.0
        self.size_bytes = 0


class JobQueue:
    """Queue of all executions of a service."""

    def __init__(self, pool: ExecutorPool, *, max_queue: int) -> None:
        """Create an idle queue; ``max_queue`` limits the items that wait or run at the same time."""
        self._pool, self._max_queue = pool, max_queue
        self._jobs: dict[str, Job] = {}
        self._ended: OrderedDict[str, Job] = OrderedDict()
        self._ended_bytes = 0
        self._queues: deque[deque[Job]] = deque()
        self._modes: Counter[ExecutionMode] = Counter()
        self._in_slots: set[Job] = set()
        self.open_items = 0
        self.executions = 0
        self.stopping = False

    @contextmanager
    def reserved(self, count: int, mode: ExecutionMode) -> Iterator[list[Job]]:
        """Reserve room for ``count`` items during the block; raise RequestRefusedError if there is too little room.

        Yields an empty list for `begin`, which appends the jobs of these items. At the end of the block, jobs that have
        not begun and for which no other batch waits are withdrawn.
        """
        if self.stopping:
            raise stopping()
        if self.open_items + count > self._max_queue:
            raise busy(
                f"the queue holds {self.open_items} items, at most {self._max_queue}: send the batch of {count} later"
            )
        if mode not in self._modes and len(self._modes) >= _MAX_MODES:
            raise busy(
                f"batches with {_MAX_MODES} different limits or starts, the maximum, are open: send this batch later"
            )
        self.open_items += count
        self._modes[mode] += 1
        jobs: list[Job] = []
        try:
            yield jobs
        finally:
            self.open_items -= count
            self._modes -= Counter([mode])
            for job in jobs:
                job.waiting -= 1
                if not (job.waiting or job.task):
                    self._withdraw(job)

    def begin(self, reserved: list[Job], items: Iterable[WorkItem], mode: ExecutionMode, max_attempts: int) -> None:
        """Append a job for each item to ``reserved``: new, or of an equal item that waits, runs or ended lately.

        Items are equal if their verdict keys are equal.
        """
        self._drop_old()
        new = deque[Job]()
        for item in items:
            job = self._jobs.get(item.verdict_key)
            if job is None:
                job = self._jobs[item.verdict_key] = Job(item, mode, max_attempts)
                new.append(job)
            job.waiting += 1
            reserved.append(job)
        if new:
            self._queues.append(new)
        if self.stopping:
            self.drain()
        self._begin_waiting()

    def drain(self) -> None:
        """Start no further executions: withdraw all waiting executions, and let running executions end."""
        self.stopping = True
        for job in [job for queue in self._queues for job in queue]:
            self._withdraw(job)
        self._queues.clear()

    def _withdraw(self, job: Job) -> None:
        if not job.done.done():
            job.done.set_result(None)
            del self._jobs[job.item.verdict_key]

    def _begin_waiting(self) -> None:
        """Start executions while the pool has free slots, in turn from each batch, so that small batches wait less."""
        while len(self._in_slots) < self._pool.slots and self._queues and not self.stopping:
            queue = self._queues.popleft()
            job = queue.popleft()
            if queue:
                self._queues.append(queue)
            if job.done.done():  # withdrawn
                continue
            self._in_slots.add(job)
            job.task = asyncio.create_task(self._execute(job))
            job.task.add_done_callback(partial(self._leave_slot, job))

    def _leave_slot(self, job: Job, _task: object = None) -> None:
        self._in_slots.discard(job)
        self._begin_waiting()

    async def _execute(self, job: Job) -> None:
        loop = asyncio.get_running_loop()

        def leave_slot() -> None:
            with suppress(RuntimeError):  # the service has ended
                loop.call_soon_threadsafe(self._leave_slot, job)

        for _ in range(job.max_attempts):
            job.attempts += 1
            self.executions += 1
            done = asyncio.wrap_future(self._pool.submit(job.item, job.mode, leave_slot))
            await asyncio.wait([done])
            error = done.exception()
            # Errors of the service, such as a lack of file descriptors, must not count as failures of the program.
            lacking = f"{NOT_STARTED}the service failed with {error!r}: read the service's log"
            outcome = Outcome(exit=lacking) if error else done.result()
            if self.stopping or not worth_repeating(outcome):
                break
        job.done.set_result(outcome)
        if worth_repeating(outcome) or outcome.not_started:  # it tells nothing about the program: do not keep it
            del self._jobs[job.item.verdict_key]
        else:
            job.ended_at = time.monotonic()
            job.size_bytes = len(outcome.stdout) + len(outcome.stderr) + sum(map(len, map(repr, outcome.frames)))
            job.size_bytes += len(job.item.program) + len(job.item.test)
            self._ended[job.item.verdict_key] = job
            self._ended_bytes += job.size_bytes
            self._drop_old()

    def _drop_old(self) -> None:
        long_ago = time.monotonic() - _KEPT_SECONDS
        while self._ended:
            key, oldest = next(iter(self._ended.items()))
            if oldest.ended_at > long_ago and self._ended_bytes <= _KEPT_BYTES:
                return
            del self._ended[key], self._jobs[key]
            self._ended_bytes -= oldest.size_bytes


class Service:
    """Service that executes batches in one environment."""

    def __init__(
        self,
        pool: ExecutorPool,
        capabilities: Capabilities,
        settings: ServingSettings,
        known: Contradictions | None = None,
    ) -> None:
        """Create an idle service; ``capabilities`` are the result of a check of the pool.

        ``known`` holds altered tests that are validated in the pool's environment.
        """
        self.settings, self.pool = settings, pool
        self.jobs = JobQueue(pool, max_queue=settings.max_queue)
        self.budget = ByteBudget(_BODIES * settings.max_body_mib << 20)
        self._description = pool.description(capabilities)
        self._environment_sha = pool.environment.environment_sha
        self._contradictions = known or Contradictions()
        # One thread for parsing, which holds the GIL anyway, and one for planning: a survey of imports takes 30 s.
        self._reading = ThreadPoolExecutor(1, "reading")
        self._planning = ThreadPoolExecutor(1, "planning")
        self._checking = ThreadPoolExecutor(_CHECKS_AT_ONCE, "checking")

    def info(self) -> dict[str, Any]:
        """Return the fields of ``protocol.Info``."""
        settings = self.settings
        bounds = {name: getattr(settings, name) for name in ("most_seconds", "max_batch", "max_body_mib", "max_queue")}
        counts = {"open_items": self.jobs.open_items, "executions": self.jobs.executions}
        limits = (settings.most_limits or settings.limits).model_dump()
        return self._description | {"limits": limits} | bounds | counts

    async def read(
        self, body: bytes, parse: Callable[[bytes, ServingSettings, InstalledEnvironment], _Parsed]
    ) -> _Parsed:
        """Parse a request's body in the reading thread; raise RequestRefusedError if the body is not valid."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, parse, body, self.settings, self.pool.environment)

    async def starts(self, body: bytes) -> dict[str, Any]:
        """Plan the start of each program of a request; raise RequestRefusedError if the body is not valid."""
        loop = asyncio.get_running_loop()
        texts = await loop.run_in_executor(self._reading, request_parsing.parse_programs, body)
        return {"starts": await loop.run_in_executor(self._planning, self.pool.prepare, texts)}

    async def lines(self, reserved: list[Job], batch: ParsedBatch) -> AsyncGenerator[bytes, None]:
        """Yield the result line of each item of a batch when it ends; blank lines show that the service is alive."""
        planning = asyncio.ensure_future(self._planned(batch))
        while not (await asyncio.wait([planning], timeout=protocol.ALIVE_SECONDS))[0]:
            yield b"\n"
        items = planning.result()
        # A client that judges outcomes itself also repeats disturbed executions itself.
        max_attempts = _ATTEMPTS if batch.request.detail == "verdict" else 1
        self.jobs.begin(reserved, (one.work for one in items.values()), batch.mode, max_attempts)
        ended: asyncio.Queue[asyncio.Task[bytes]] = asyncio.Queue()
        tasks = {
            asyncio.create_task(self._line(name, one, job, batch))
            for (name, one), job in zip(items.items(), reserved, strict=True)
        }
        for task in tasks:
            task.add_done_callback(ended.put_nowait)
        try:
            while tasks:
                try:
                    async with asyncio.timeout(protocol.ALIVE_SECONDS):
                        task = await ended.get()
                except TimeoutError:
                    yield b"\n"
                    continue
                tasks.discard(task)
                if line := task.result():
                    yield line
        finally:  # the client may have left
            for task in tasks:
                task.cancel()

    async def verdict_of(self, batch: ParsedBatch, is_gone: Callable[[], Awaitable[bool]]) -> dict[str, Any]:
        """Return the verdict on the only item; raise RequestRefusedError if the client leaves or the service stops."""
        with self.jobs.reserved(1, batch.mode) as reserved:
            async with aclosing(self.lines(reserved, batch)) as lines:
                async for line in lines:
                    if line.strip():
                        found: dict[str, Any] = json.loads(line)["verdict"]
                        return found
                    if await is_gone():
                        break
        raise stopping()

    def close(self) -> None:
        for pool in (self._reading, self._planning, self._checking):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _planned(self, batch: ParsedBatch) -> dict[str, ParsedItem]:
        """Return the items; plan the start of each item for which the client sent no start."""
        items = batch.items
        if batch.mode.start == "cold" or all(one.request.preload is not None for one in items.values()):
            return items
        texts = [(one.work.program, one.work.test) for one in items.values()]
        starts = await asyncio.get_running_loop().run_in_executor(self._planning, self.pool.prepare, texts)
        return {
            name: one._replace(work=replace(one.work, **start)) if one.request.preload is None else one
            for (name, one), start in zip(items.items(), starts, strict=True)
        }

    async def _line(self, name: str, parsed: ParsedItem, job: Job, batch: ParsedBatch) -> bytes:
        """Return the result line of an item after its execution and check; empty if the item was withdrawn."""
        outcome = await asyncio.shield(job.done)
        if outcome is None:
            return b""
        if batch.request.detail == "outcome":
            return protocol.line({"id": name, "outcome": asdict(outcome)})
        row = self._verdict(parsed.work, outcome, job.attempts)
        passed = row["status"] == "pass"
        row["integrity"] = UNCHECKED if passed else None
        if passed and parsed.request.reference is not None:
            loop = asyncio.get_running_loop()
            check = await loop.run_in_executor(self._checking, self._check, parsed, batch.mode)
            row = applied({"": row}, {"": check})[""]
        row |= {"pass_share": pass_share(row)}
        return protocol.line({"id": name, "verdict": {column: row[column] for column in protocol.Verdict.model_fields}})

    def _verdict(self, item: WorkItem, outcome: Outcome, attempts: int = 1) -> dict[str, Any]:
        return verdict(item, outcome, backend="local", environment_sha=self._environment_sha, attempts=attempts)

    def _check(self, parsed: ParsedItem, mode: ExecutionMode) -> CheckResult:
        """Check a pass with altered tests, and return the result; keep newly validated tests for later checks."""
        item, entry_point = parsed.work, parsed.request.entry_point
        task = task_row(item.test, entry_point, item.expected_tests)

        def item_of(program: str | None, test: str) -> WorkItem:
            text = parsed.request.reference or "" if program is None else program
            preload, zygote = (item.preload, item.zygote) if program == item.program else ((), ())
            identity = repr([text, test, item.time_seconds, item.expected_tests, mode]).encode("utf-8", "surrogatepass")
            key = hashlib.sha256(identity).hexdigest()
            made = replace(item, verdict_key=key, program=text, test=test, preload=preload, zygote=zygote)
            return replace(made, fail_fast=False)  # a check needs the outcome of every test

        def execute(items: Sequence[WorkItem]) -> dict[str, dict[str, Any]]:
            running = [self.pool.submit(one, mode) for one in items]
            return {
                one.verdict_key: self._verdict(one, future.result()) for one, future in zip(items, running, strict=True)
            }

        reference = Reference(task, item_of, stub_program(f"def {entry_point}(*args, **kwargs):"))
        [finding] = check_passes([Pass(item, reference)], self._contradictions, execute).values()
        return finding
