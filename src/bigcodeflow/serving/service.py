"""A service without its addresses: batches are read, planned, queued, executed and judged."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

from bigcodeflow.core.calibration import stub_program
from bigcodeflow.execution.backends.base import Capabilities, Outcome
from bigcodeflow.execution.integrity.checks import UNCHECKED, CheckResult, Pass, applied, check_passes
from bigcodeflow.execution.integrity.contradictions import Contradictions, Reference
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.execution.verdicts import verdict
from bigcodeflow.serving.jobs import ATTEMPTS, JobQueue, Reservation
from bigcodeflow.serving.request_parsing import (
    ParsedBatch,
    ParsedItem,
    ServingSettings,
    busy,
    parse_batch,
    parse_programs,
)

#: Checks of passes that are made at the same time; each has several executions under way.
_CHECKS_AT_ONCE = 4


class ByteBudget:
    """Bytes of requests that are held at the same time."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, count: int) -> None:
        """Count bytes that arrived, or refuse the request where there are too many already."""
        if count > self._left:
            raise busy("the requests under way fill the memory that they may have: send this one again later")
        self._left -= count

    def give(self, count: int) -> None:
        """Count bytes that are no longer held."""
        self._left += count


class Service:
    """Executes batches in one environment."""

    def __init__(self, pool: ExecutorPool, capabilities: Capabilities, settings: ServingSettings) -> None:
        """Execute nothing yet; ``capabilities`` are what a check of the pool found."""
        self.settings, self.pool = settings, pool
        self.jobs = JobQueue(pool, max_queue=settings.max_queue)
        self.budget = ByteBudget(settings.max_held_bytes)
        self._description = pool.description(capabilities)
        self._environment_sha = pool.environment.environment_sha
        self._contradictions = Contradictions(None, self._environment_sha)
        # One thread each: reading holds the interpreter anyway, and a survey of imports takes half a minute.
        self._reading = ThreadPoolExecutor(1, "reading")
        self._planning = ThreadPoolExecutor(1, "planning")
        self._checking = ThreadPoolExecutor(_CHECKS_AT_ONCE, "checking")

    def info(self) -> dict[str, Any]:
        """The fields of ``protocol.Info``."""
        settings = self.settings
        bounds = {name: getattr(settings, name) for name in ("most_seconds", "max_batch", "max_body_mib", "max_queue")}
        counts = {"open_items": self.jobs.open_items, "executions": self.jobs.executions}
        return self._description | {"limits": settings.upper_limits.model_dump()} | bounds | counts

    async def read(self, body: bytes) -> ParsedBatch:
        """The work of a batch, or a RequestRefusedError."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, parse_batch, body, self.settings, self.pool.environment)

    async def starts(self, body: bytes) -> dict[str, Any]:
        """How each program of a request starts, or a RequestRefusedError."""
        loop = asyncio.get_running_loop()
        texts = await loop.run_in_executor(self._reading, parse_programs, body)
        return {"starts": await loop.run_in_executor(self._planning, self.pool.prepare, texts)}

    async def lines(self, reservation: Reservation, batch: ParsedBatch) -> AsyncIterator[bytes]:
        """The results of a batch as they come; a blank line is a sign of life."""
        planning = asyncio.ensure_future(self._planned(batch))
        while not (await asyncio.wait([planning], timeout=protocol.ALIVE_SECONDS))[0]:
            yield b"\n"
        items = planning.result()
        # A client that judges outcomes itself repeats itself what was disturbed.
        attempts = ATTEMPTS if batch.request.detail == "verdict" else 1
        self.jobs.begin(reservation, [(name, one.work) for name, one in items.items()], attempts)
        checks: dict[asyncio.Future[CheckResult], tuple[str, dict[str, Any]]] = {}
        async for result in reservation.results():
            if result is None:
                yield b"\n"
                continue
            name, finished = result
            if batch.request.detail == "outcome":
                yield protocol.line({"id": name, "outcome": asdict(finished.outcome)})
                continue
            row = self._verdict(items[name].work, finished.outcome, finished.attempts)
            row["integrity"] = UNCHECKED if row["status"] == "pass" else None
            if row["status"] == "pass" and items[name].request.reference is not None:
                check = asyncio.wrap_future(self._checking.submit(self._check, items[name], batch.mode))
                checks[check] = (name, row)
            else:
                yield _verdict_line(name, row)
        async for line in _checked_lines(checks):
            yield line

    def close(self) -> None:
        """Stop reading, planning and checking."""
        for pool in (self._reading, self._planning, self._checking):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _planned(self, batch: ParsedBatch) -> dict[str, ParsedItem]:
        """The items with a planned start where the client did not give one."""
        items = batch.items
        if batch.mode.start == "cold" or all(one.request.preload is not None for one in items.values()):
            return items
        texts = [(one.work.program, one.work.test) for one in items.values()]
        starts = await asyncio.get_running_loop().run_in_executor(self._planning, self.pool.prepare, texts)
        return {
            name: one._replace(work=replace(one.work, **start)) if one.request.preload is None else one
            for (name, one), start in zip(items.items(), starts, strict=True)
        }

    def _verdict(self, item: WorkItem, outcome: Outcome, attempts: int = 1) -> dict[str, Any]:
        return verdict(item, outcome, backend="local", environment_sha=self._environment_sha, attempts=attempts)

    def _check(self, parsed: ParsedItem, mode: ExecutionMode) -> CheckResult:
        """Execute a program that passed against contradictions of its test; what is learned of the test is kept."""
        item, entry_point = parsed.work, parsed.request.entry_point
        task: dict[str, Any] = {"task_id": hashlib.sha256(item.test.encode("utf-8", "surrogatepass")).hexdigest()}
        task |= {"test": item.test, "entry_point": entry_point, "expected_tests": item.expected_tests}

        def item_of(program: str | None, test: str) -> WorkItem:
            text = parsed.request.reference or "" if program is None else program
            preload, zygote = (item.preload, item.zygote) if program == item.program else ((), ())
            identity = repr([text, test, item.time_seconds, item.expected_tests, mode]).encode("utf-8", "surrogatepass")
            key = hashlib.sha256(identity).hexdigest()
            return replace(item, verdict_key=key, program=text, test=test, preload=preload, zygote=zygote)

        def execute(items: Sequence[WorkItem]) -> dict[str, dict[str, Any]]:
            running = [self.pool.submit(one, mode) for one in items]
            return {
                one.verdict_key: self._verdict(one, future.result()) for one, future in zip(items, running, strict=True)
            }

        reference = Reference(task, item_of, stub_program(f"def {entry_point}(*args, **kwargs):"))
        [finding] = check_passes([Pass(item, reference)], self._contradictions, execute).values()
        return finding


def _verdict_line(name: str, row: dict[str, Any]) -> bytes:
    return protocol.line({"id": name, "verdict": {column: row[column] for column in protocol.Verdict.model_fields}})


async def _checked_lines(checks: dict[asyncio.Future[CheckResult], tuple[str, dict[str, Any]]]) -> AsyncIterator[bytes]:
    """The verdicts of passes, as their checks end."""
    while checks:
        ended, _ = await asyncio.wait(checks, timeout=protocol.ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for check in ended:
            name, row = checks.pop(check)
            yield _verdict_line(name, applied({"": row}, {"": check.result()})[""])
        if not ended:
            yield b"\n"
