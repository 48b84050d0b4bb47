"""Run the methods of one test class as unittest does.

``CaseOutcome`` decides the outcome of a method from the exception that it raised. unittest's runner is not used, so a
program or test that replaces parts of the runner cannot change the report. unittest provides the assertions, fixtures
and cleanups. This is a separate module, so that a program that inspects stack frames sees the same frames after a
cold start (in which the harness is the main module) and after a warm start.
"""

from __future__ import annotations

import builtins
import os
import sys
import time
import types
import unittest
import unittest.case
from traceback import format_exception

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bigcodeflow.judge.guest import mock_records

    Raised = tuple[type[BaseException], BaseException, types.TracebackType | None] | tuple[None, None, None]

globals()["__builtins__"] = dict(vars(builtins))  # for functions below, even if a program replaces builtins

_RANK = ("pass", "expected_failure", "unexpected_success", "skip", "fail", "error")
_HIDDEN = (__file__, os.path.join(os.path.dirname(__file__), "harness.py"), unittest.case.__file__)
_SKIP = unittest.SkipTest


class Runner:
    """Runner of a test class: its fixtures and test methods. Each outcome is sent as soon as the method ends."""

    def __init__(self, send: Callable[..., None]) -> None:
        self._send, self._clock = send, time.perf_counter
        #: Watcher of mocks' call records, which only calls may change; None: records are not watched.
        self.mock_records: mock_records.MockRecords | None = None

    def run(self, names: dict[str, Any], cases: Sequence[unittest.TestCase]) -> None:
        """Run fixtures and cases, but no case if setUpModule or setUpClass fails; ``names``: the module's names."""
        cls = type(cases[0]) if cases else names["TestCases"]
        skipped = getattr(cls, "__unittest_skip__", False)
        fixtures = [] if skipped else [names.get("setUpModule"), cls.setUpClass]
        if all(self._fixture(fixture) for fixture in fixtures):
            for case in cases:
                began, name, outcome = self._clock(), case._testMethodName, CaseOutcome()
                outcome.run(case, getattr(case, name))
                if self.mock_records and self.mock_records.were_changed():
                    error = AssertionError("the call record of a mock was changed without a call of the mock")
                    outcome.note("fail", (type(error), error, None))
                seconds, found = self._clock() - began, outcome.worst or "missing"
                self._send("test", name=name, outcome=found, seconds=seconds, **outcome.details)
            if not skipped:
                self._fixture(cls.tearDownClass)
        if getattr(cls, "_class_cleanups", None):
            self._fixture(cls.doClassCleanups)
        for error in getattr(cls, "tearDown_exceptions", ()):
            self._send("class_failed", **describe(error))
        self._fixture(names.get("tearDownModule"))

    def _fixture(self, function: Callable[[], object] | None) -> bool:
        try:
            if function is not None:
                function()
        except BaseException:  # a fixture may call the program, which may raise anything
            self._send("class_failed", **describe(sys.exc_info()))
            return False
        return True


class CaseOutcome:
    """Outcome of a test method. unittest's TestCase uses this object as its ``_outcome``. `note` keeps the worst."""

    result_supports_subtests = True
    expectedFailure = None  # noqa: N815 -- unittest's name

    def __init__(self) -> None:
        self.worst: str | None = None
        self.details: dict[str, str] = {}
        self.success, self.expecting_failure = True, False
        self.errors: list[Any] = []
        self.skipped: list[Any] = []
        self.result = types.SimpleNamespace(failfast=False)

    def note(self, outcome: str, error: Raised | None = None) -> None:
        """Store an outcome if it is worse than the stored outcome."""
        if self.worst is None or _RANK.index(outcome) > _RANK.index(self.worst):
            self.worst = outcome
            self.details = describe(error) if error else {}

    def testPartExecutor(self, _case: object, isTest: bool = False, subTest: bool = False) -> _Attempt:  # noqa: N802, N803 -- unittest's names
        """Return the context in which unittest runs a subtest or a cleanup."""
        return _Attempt(self)

    def run(self, case: Any, method: Any) -> None:
        """Run setUp, the method, tearDown and the cleanups, each only if unittest would run it too."""
        if getattr(type(case), "__unittest_skip__", False) or getattr(method, "__unittest_skip__", False):
            self.note("skip")
            return
        expecting = [getattr(one, "__unittest_expecting_failure__", False) for one in (type(case), method)]
        case._outcome = self
        loops = [getattr(case, name, None) for name in ("_setupAsyncioRunner", "_setupAsyncioLoop")]
        ends = [getattr(case, name, None) for name in ("_tearDownAsyncioRunner", "_tearDownAsyncioLoop")]
        for start in filter(None, loops):
            start()
        try:
            with _Attempt(self):
                case._callSetUp()
            if self.success:
                with _Attempt(self, any(expecting)):
                    case._callTestMethod(method)
                with _Attempt(self):
                    case._callTearDown()
            while case._cleanups:
                function, args, kwargs = case._cleanups.pop()
                with _Attempt(self):
                    case._callCleanup(function, *args, **kwargs)
            if self.success:
                self.note("pass")
        finally:
            for end in filter(None, ends):
                end()
            case._outcome = None


class _Attempt:
    """Context manager that catches every exception of its block, and notes the outcome: skip, fail, error, …."""

    def __init__(self, outcome: CaseOutcome, expecting: bool = False) -> None:
        self._outcome, self._expecting = outcome, expecting

    def __enter__(self) -> None:
        """Do nothing: no preparation is needed."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: types.TracebackType | None
    ) -> bool:
        outcome = self._outcome
        if kind is None or value is None:
            if self._expecting:
                outcome.success = False
                outcome.note("unexpected_success")
            return True
        outcome.success = False
        if issubclass(kind, _SKIP):
            outcome.note("skip")
        elif self._expecting:
            outcome.note("expected_failure")
        else:
            outcome.note("fail" if issubclass(kind, AssertionError) else "error", (kind, value, trace))
        return True


def describe(error: Raised) -> dict[str, str]:
    """Return ``exception`` (names of class and base classes) and ``trace`` (without the harness's calls)."""
    kind, value, trace = error
    if kind is None:
        return {"exception": "", "trace": ""}
    while trace is not None and trace.tb_frame.f_code.co_filename in _HIDDEN:
        trace = trace.tb_next
    try:
        text = "".join(format_exception(kind, value, trace))
    except BaseException as problem:  # a __str__ of the program may raise anything
        text = f"{kind.__name__} (its traceback cannot be printed: {type(problem).__name__})"
    return {"exception": " ".join(base.__name__ for base in kind.__mro__[:-1]), "trace": text}
