"""Checks of passes for clients that send a program which solves the task."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from bigcodeflow.core.calibration import stub_program
from bigcodeflow.execution.integrity.checks import Finding, Pass, Reference, check_passes
from bigcodeflow.execution.integrity.contradictions import Contradictions
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote.executor_pool import Kind, Workshop
from bigcodeflow.execution.verdicts import verdict
from bigcodeflow.serving.request_parsing import Order

#: Checks that are made at the same time; each has several executions under way.
_AT_ONCE = 4


class PassChecks:
    """Executes programs that passed against contradictions of their tests; keeps what it learned of these tests."""

    def __init__(self, workshop: Workshop, environment_sha: str) -> None:
        self._workshop, self._sha = workshop, environment_sha
        self._known = Contradictions(None, environment_sha)
        self._pool = ThreadPoolExecutor(_AT_ONCE, "checking")

    def submit(self, order: Order, item: WorkItem, kind: Kind) -> "Future[Finding]":
        """Check a pass.

        Args:
            order: what the client asked for, with a reference.
            item: what passed.
            kind: how it ran.
        """
        return self._pool.submit(self._check, order, item, kind)

    def close(self) -> None:
        """Check nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _check(self, order: Order, item: WorkItem, kind: Kind) -> Finding:
        task = {"task_id": hashlib.sha256(item.test.encode("utf-8", "surrogatepass")).hexdigest()}
        task |= {"test": item.test, "entry_point": order.entry_point, "expected_tests": item.expected_tests}  # type: ignore[dict-item]

        def item_of(program: str | None, test: str) -> WorkItem:
            own = program == item.program
            text = order.reference or "" if program is None else program
            starts = (item.preload, item.zygote) if own else ((), ())
            identity = repr([text, test, item.time_seconds, item.expected_tests, kind]).encode("utf-8", "surrogatepass")
            key = hashlib.sha256(identity).hexdigest()
            return replace(item, verdict_key=key, program=text, test=test, preload=starts[0], zygote=starts[1])

        def execute(items: Sequence[WorkItem]) -> dict[str, dict[str, Any]]:
            running = [self._workshop.submit(one, kind) for one in items]
            return {
                one.verdict_key: verdict(one, future.result(), backend="local", environment_sha=self._sha)
                for one, future in zip(items, running, strict=True)
            }

        reference = Reference(task, item_of, stub_program(f"def {order.entry_point}(*args, **kwargs):"))
        [finding] = check_passes([Pass(item, reference)], self._known, execute).values()
        return finding
