"""What stands behind the addresses of a service: batches are read, planned, queued, executed and judged."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from http import HTTPStatus
from typing import Any

from bigcodeflow.core.calibration import stub_program
from bigcodeflow.execution.backends.base import Capabilities
from bigcodeflow.execution.environment_check import absent_modules
from bigcodeflow.execution.integrity.checks import UNCHECKED, CheckResult, Pass, applied, check_passes
from bigcodeflow.execution.integrity.contradictions import Contradictions, Reference
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.execution.verdicts import verdict
from bigcodeflow.serving.jobs import ATTEMPTS, FinishedExecution, JobQueue, Reservation
from bigcodeflow.serving.request_parsing import (
    ParsedBatch,
    ParsedItem,
    RequestRefusedError,
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
        """Count bytes that arrived.

        Raises:
            RequestRefusedError: there are too many of them already.
        """
        if count > self._left:
            raise busy("the requests under way fill the memory that they may have: send this one again later")
        self._left -= count

    def give(self, count: int) -> None:
        """Count bytes that are no longer held."""
        self._left += count


class Service:
    """Executes batches in one environment."""

    def __init__(self, pool: ExecutorPool, capabilities: Capabilities, settings: ServingSettings) -> None:
        """Nothing is executed yet.

        Args:
            pool: where items are executed.
            capabilities: what a check of it found.
            settings: what the service allows.
        """
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
        """The work of a batch.

        Raises:
            RequestRefusedError: it cannot be done here.
        """
        loop = asyncio.get_running_loop()
        request, batch = await loop.run_in_executor(
            self._reading, parse_batch, body, self.settings, self._environment_sha
        )
        own = (self._description["code_version"], self._environment_sha)
        wanted = (request.code_version or own[0], request.environment_sha or own[1])
        if own != wanted:  # planned for another service, such as this address's former one
            raise RequestRefusedError(
                HTTPStatus.CONFLICT,
                f"the service has bigcodeflow {own[0]} and environment {own[1][:12]}, and the batch wants {wanted[0]} "
                f"and {wanted[1][:12]}: start it with the same, or run again to use what it has",
            )
        return await loop.run_in_executor(self._reading, self._with_absent_imports, batch)

    async def starts(self, body: bytes) -> dict[str, Any]:
        """How each program of a request starts.

        Raises:
            RequestRefusedError: the request has another form.
        """
        loop = asyncio.get_running_loop()
        texts = await loop.run_in_executor(self._reading, parse_programs, body)
        return {"starts": await loop.run_in_executor(self._planning, self.pool.prepare, texts)}

    async def lines(self, reservation: Reservation, batch: ParsedBatch) -> AsyncIterator[bytes]:
        """The results of a batch as they come; a blank line is a sign of life."""
        planning = asyncio.ensure_future(self._planned(batch))
        while not (await asyncio.wait([planning], timeout=protocol.ALIVE_SECONDS))[0]:
            yield b"\n"
        items = planning.result()
        names = [one.id for one in batch.items]
        attempts = ATTEMPTS if batch.judged_here else 1
        self.jobs.begin(reservation, list(zip(names, items, strict=True)), attempts)
        by_name = dict(zip(names, zip(batch.items, items, strict=True), strict=True))
        checks: dict[asyncio.Future[CheckResult], tuple[str, dict[str, Any]]] = {}
        async for result in reservation.results():
            if result is None:
                yield b"\n"
                continue
            name, finished = result
            if not batch.judged_here:
                yield protocol.line({"id": name, "outcome": asdict(finished.outcome)})
                continue
            parsed, item = by_name[name]
            row = self._verdict(finished, item)
            if row["status"] == "pass" and parsed.reference is not None:
                check = asyncio.wrap_future(self._checking.submit(self._check, parsed, item, batch.mode))
                checks[check] = (name, row)
            else:
                yield _verdict_line(name, row)
        async for line in _checked_lines(checks):
            yield line

    def close(self) -> None:
        """Read, plan and check nothing any more."""
        for pool in (self._reading, self._planning, self._checking):
            pool.shutdown(wait=False, cancel_futures=True)

    def _with_absent_imports(self, batch: ParsedBatch) -> ParsedBatch:
        """The batch with what this environment lacks of what each item names: no program may say so itself."""
        if not batch.judged_here:
            return batch
        named = frozenset().union(*(one.item.missing_imports for one in batch.items))
        absent = absent_modules(self.pool.environment, named)
        items = [
            one._replace(item=replace(one.item, missing_imports=one.item.missing_imports & absent))
            for one in batch.items
        ]
        return batch._replace(items=items)

    async def _planned(self, batch: ParsedBatch) -> list[WorkItem]:
        items = [one.item for one in batch.items]
        if batch.mode.start == "cold" or all(one.planned for one in batch.items):
            return items
        texts = [(item.program, item.test) for item in items]
        starts = await asyncio.get_running_loop().run_in_executor(self._planning, self.pool.prepare, texts)
        return [
            one.item if one.planned else replace(one.item, preload=start["preload"], zygote=start["zygote"])
            for one, start in zip(batch.items, starts, strict=True)
        ]

    def _verdict(self, finished: FinishedExecution, item: WorkItem) -> dict[str, Any]:
        row = verdict(
            item,
            finished.outcome,
            backend="local",
            environment_sha=self._environment_sha,
            attempts=finished.attempts,
        )
        return row | {"integrity": UNCHECKED if row["status"] == "pass" else None}

    def _check(self, parsed: ParsedItem, item: WorkItem, mode: ExecutionMode) -> CheckResult:
        """Execute a program that passed against contradictions of its test; what is learned of the test is kept."""
        task: dict[str, Any] = {"task_id": hashlib.sha256(item.test.encode("utf-8", "surrogatepass")).hexdigest()}
        task |= {"test": item.test, "entry_point": parsed.entry_point, "expected_tests": item.expected_tests}

        def item_of(program: str | None, test: str) -> WorkItem:
            text = parsed.reference or "" if program is None else program
            preload, zygote = (item.preload, item.zygote) if program == item.program else ((), ())
            identity = repr([text, test, item.time_seconds, item.expected_tests, mode]).encode("utf-8", "surrogatepass")
            key = hashlib.sha256(identity).hexdigest()
            return replace(item, verdict_key=key, program=text, test=test, preload=preload, zygote=zygote)

        def execute(items: Sequence[WorkItem]) -> dict[str, dict[str, Any]]:
            running = [self.pool.submit(one, mode) for one in items]
            return {
                one.verdict_key: verdict(one, future.result(), backend="local", environment_sha=self._environment_sha)
                for one, future in zip(items, running, strict=True)
            }

        reference = Reference(task, item_of, stub_program(f"def {parsed.entry_point}(*args, **kwargs):"))
        [finding] = check_passes([Pass(item, reference)], self._contradictions, execute).values()
        return finding


def _verdict_line(name: str, row: dict[str, Any]) -> bytes:
    return protocol.line({"id": name, "verdict": {column: row[column] for column in protocol.Verdict.model_fields}})


async def _checked_lines(checks: dict[asyncio.Future[CheckResult], tuple[str, dict[str, Any]]]) -> AsyncIterator[bytes]:
    """The lines of passes as their checks end."""
    while checks:
        ended, _ = await asyncio.wait(checks, timeout=protocol.ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for check in ended:
            name, row = checks.pop(check)
            yield _verdict_line(name, applied({"": row}, {"": check.result()})[""])
        if not ended:
            yield b"\n"
