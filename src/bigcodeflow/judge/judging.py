"""The judge in this process: programs and tests in, verdicts out, without a pipeline, a store or a service.

Each program is executed in a sandbox of its own. A pass of a task whose solution is given is checked as runs check it:
it counts only if the program also does what every correct program does with altered tests.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core import untrusted_text
from bigcodeflow.core.calibration import stub_program
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow.judge.expected_tests import expected_test_ids
from bigcodeflow.judge.host.admission import Admission
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.integrity.checks import Pass, applied, check_passes
from bigcodeflow.judge.integrity.contradictions import Contradictions, Reference
from bigcodeflow.judge.items import WorkItem, task_row, work_item
from bigcodeflow.judge.verdicts import Verdict, verdict, worth_repeating

#: Executions after which a kill of unknown origin counts as caused by the program.
_ATTEMPTS = 5
_SLOTS_PER_CORE = 8


class Task(NamedTuple):
    """A test, the function that it tests, and a solution."""

    test: str
    """Text that defines the class ``TestCases``; it is executed in the module of the program."""
    reference: str = ""
    """Program that solves the task; empty: passes are not checked."""
    entry_point: str = "task_func"
    """Name of the function under test."""


class Judge:
    """Executes programs of one environment in sandboxes on this machine; use it as a context manager.

    Keep one for many calls: it keeps libraries loaded, and the altered tests that it has validated. Thread-safe.
    """

    def __init__(
        self,
        environment: str | InstalledEnvironment = "starter",
        *,
        limits: LimitsConfig | None = None,
        warm: bool = True,
        cores: int = 0,
    ) -> None:
        """Start nothing before the first program.

        Args:
            environment: name of a built sandbox environment, such as 'bigcodebench'.
            limits: limits of each program; None: the defaults of runs.
            warm: True forks programs from processes that have their libraries imported; faster.
            cores: cores that programs keep busy; 0: all of this machine.

        Raises:
            EnvironmentUnusableError: the environment is not defined or not built.
        """
        self._environment = find_environment(environment) if isinstance(environment, str) else environment
        self._limits, self._cores = limits or LimitsConfig(), cores or usable_cores()
        self.backend = LocalBackend(self._environment, self._limits, warm=warm, admission=Admission(self._cores))
        self._known, self._is_usable = Contradictions(), False

    def check(self, program: str, test: str, *, reference: str = "", entry_point: str = "task_func") -> Verdict:
        """Return the verdict of one program; see `check_all`."""
        [found] = self.check_all([(program, Task(test, reference, entry_point))])
        return found

    def check_all(self, samples: Sequence[tuple[str, Task]]) -> list[Verdict]:
        """Return the verdict of each program against its task, in their order.

        A verdict has the columns of VERDICTS that depend on the execution: ``status`` (pass, fail, timeout,
        out_of_memory, syntax_error, crash, tampered or infra_error), ``failure_kind``, ``tests`` with outcome, trace
        and seconds of each, ``stdout``, ``stderr``, ``wall_seconds``, ``cpu_seconds``, ``max_rss_mib``, ``integrity``:
        'checked', 'tampered', 'no contradiction', 'not checked', or None if there was nothing to check.

        Raises:
            SamplesError: a test is not valid Python or has no class ``TestCases``.
            SandboxUnavailableError: no sandbox can be started here.
        """
        if not self._is_usable:
            self.backend.check()
            self._is_usable = True
        items = [self._item(program, task) for program, task in samples]
        found = self.execute(items)
        passes = {
            item.verdict_key: Pass(item, self._reference(task))
            for item, (_, task) in zip(items, samples, strict=True)
            if task.reference and found[item.verdict_key]["status"] == "pass"
        }
        checked = applied(found, check_passes(list(passes.values()), self._known, self.execute))
        return [{"integrity": None, "integrity_key": None} | checked[item.verdict_key] for item in items]

    def execute(self, items: Sequence[WorkItem]) -> dict[str, Verdict]:
        """Execute one item of each verdict key; return the verdicts by key. Passes are not checked."""
        distinct = {item.verdict_key: item for item in items}
        with ThreadPoolExecutor(self._cores * _SLOTS_PER_CORE) as pool:
            rows = pool.map(self.executed, self.backend.prepare(list(distinct.values())))
        return {row["verdict_key"]: row for row in rows}

    def executed(self, item: WorkItem) -> Verdict:
        return executed(self.backend, item, self._environment.environment_sha)

    def _item(self, program: str, task: Task, test: str | None = None) -> WorkItem:
        return work_item(
            program=program,
            task=_row(task) if test is None else _row(task) | {"test": test},
            missing_imports=frozenset(),
            environment_sha=self._environment.environment_sha,
            limits=self._limits,
        )

    def _reference(self, task: Task) -> Reference:
        def item_of(program: str | None, test: str) -> WorkItem:
            return self._item(task.reference if program is None else program, task, test)

        return Reference(_row(task), item_of, stub_program(f"def {task.entry_point}(*args, **kwargs):"))

    def close(self) -> None:
        """End every process that the judge started."""
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check(
    program: str,
    test: str,
    *,
    environment: str = "starter",
    reference: str = "",
    entry_point: str = "task_func",
    limits: LimitsConfig | None = None,
) -> Verdict:
    """Return the verdict of one program from a new `Judge`, which is closed afterwards; see `Judge.check_all`."""
    with Judge(environment, limits=limits, cores=1) as judge:
        return judge.check(program, test, reference=reference, entry_point=entry_point)


def executed(backend: Backend, item: WorkItem, environment_sha: str) -> Verdict:
    """Return the verdict of one execution in a backend; repeat an execution that was disturbed from outside."""
    outcome, attempts = backend.execute(item), 1
    while worth_repeating(outcome) and attempts < _ATTEMPTS:
        outcome, attempts = backend.execute(item), attempts + 1
    name, sha = outcome.backend or backend.name, outcome.environment_sha or environment_sha
    return verdict(item, outcome, backend=name, environment_sha=sha, attempts=attempts)


def _row(task: Task) -> dict[str, Any]:
    try:
        tests = expected_test_ids(task.test)
    except untrusted_text.REFUSALS as error:
        raise SamplesError(f"the test is not valid Python: {error}") from None
    if not tests:
        raise SamplesError("the test defines no class TestCases with test methods: define one, derived from TestCase")
    return task_row(task.test, task.entry_point, tests)
