"""Judge as a library: it returns the verdicts of programs against tests, without a pipeline, a store or a service.

Each program is executed in a separate sandbox. If the task has a reference solution, a pass is checked as in a run: the
pass counts only if the program also behaves with altered tests as every correct program does.
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

#: Number of executions after which kills of unknown origin count as caused by the program.
_ATTEMPTS = 5
_SLOTS_PER_CORE = 8


class Task(NamedTuple):
    """Task to be solved: a test, a solution that passes it, and the name of the function under test."""

    test: str
    """Text that defines the class ``TestCases``; it is executed in the module of the program."""
    reference: str = ""
    """Program that solves the task; empty: passes of other programs are not checked."""
    entry_point: str = "task_func"
    """Name of the function under test."""


class Judge:
    """Judge that executes programs in sandboxes on this machine, all in one environment; use it as a context manager.

    Use the same judge for many calls: it keeps libraries imported, and it keeps the validated altered tests with which
    it checks passes. A judge is thread-safe.
    """

    def __init__(
        self,
        environment: str | InstalledEnvironment = "starter",
        *,
        limits: LimitsConfig | None = None,
        warm: bool = True,
        cores: int = 0,
    ) -> None:
        """Store the settings; no process is started before the first program.

        Args:
            environment: name of a built sandbox environment, such as 'bigcodebench'.
            limits: limits of each program; None: the defaults of runs.
            warm: True forks each program from a process that has imported its libraries, which is faster.
            cores: number of cores that programs keep busy; 0: all cores of this machine.

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
        """Return the verdict of each pair (program, task), in the order of ``samples``.

        A verdict has the columns of VERDICTS that depend on the execution: ``status`` (pass, fail, timeout,
        out_of_memory, syntax_error, crash, tampered or infra_error), ``failure_kind``, ``tests`` (outcome, trace and
        seconds of each), ``stdout``, ``stderr``, ``wall_seconds``, ``cpu_seconds``, ``max_rss_mib``, and ``integrity``
        ('checked', 'tampered', 'no contradiction', 'not checked', or None without a pass or reference).

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
        """Execute items, only one of those with equal keys; return verdict key → verdict, without integrity checks."""
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
    """Make a `Judge` for one program, return the program's verdict (see `Judge.check_all`), and close the judge."""
    with Judge(environment, limits=limits, cores=1) as judge:
        return judge.check(program, test, reference=reference, entry_point=entry_point)


def executed(backend: Backend, item: WorkItem, environment_sha: str) -> Verdict:
    """Execute an item in a backend and return the verdict; repeat executions that may have been ended from outside."""
    outcome, attempts = backend.execute(item), 1
    while worth_repeating(outcome) and attempts < _ATTEMPTS:
        outcome, attempts = backend.execute(item), attempts + 1
    name, sha = outcome.backend or backend.name, outcome.environment_sha or environment_sha
    return verdict(item, outcome, backend=name, environment_sha=sha, attempts=attempts)


def _row(task: Task) -> dict[str, Any]:
    try:
        tests = expected_test_ids(task.test)
    except untrusted_text.REFUSALS as error:
        raise SamplesError(f"the test is not valid Python ({error}): correct the test") from None
    if not tests:
        raise SamplesError("the test has no class TestCases with test methods: add it, derived from TestCase")
    return task_row(task.test, task.entry_point, tests)
