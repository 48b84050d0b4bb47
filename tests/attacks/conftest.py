"""What the attack suites share: programs as work, and the sandboxes that judge them."""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.calibration import stub_program
from bigcodeflow.datasets.test_ids import expected_test_ids
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import Admission, LocalBackend
from bigcodeflow.execution.integrity.checks import Pass, applied, check_passes
from bigcodeflow.execution.integrity.contradictions import Contradictions, Reference
from bigcodeflow.execution.items import WorkItem, work_item
from bigcodeflow.execution.verdicts import verdict

from .reading import Exhibit

LIMITS = LimitsConfig(time_seconds=20, memory_mib=700, processes=64, disk_mib=16, output_kib=16)
_SLOTS = 16


class Sample(NamedTuple):
    """A program as an answer to a task."""

    program: str
    task: Exhibit


class Judged(NamedTuple):
    """The verdict of a sample, and when it was executed first."""

    verdict: dict
    began: float
    ended: float

    def overlaps(self, other: "Judged") -> bool:
        """Tell whether both were executed at the same time."""
        return self.began < other.ended and other.began < self.ended


def work(program: str, task: Exhibit, test: str | None = None) -> WorkItem:
    """The execution of a program as an answer to a task, planned as the pipeline plans it."""
    row = _row(task) | ({"test": test} if test is not None else {})
    return work_item(program=program, task=row, missing_imports=frozenset(), environment_sha="sha", limits=LIMITS)


def _row(task: Exhibit) -> dict:
    return {
        "task_id": f"Attacks/{hashlib.sha256(task.test.encode()).hexdigest()[:8]}",
        "code_prompt": "",
        "complete_prompt": "",
        "instruct_prompt": "",
        "canonical_solution": task.reference,
        "test": task.test,
        "entry_point": "task_func",
        "libs": [],
        "expected_tests": expected_test_ids(task.test),
    }


def _reference(task: Exhibit) -> Reference:
    def item_of(program: str | None, test: str) -> WorkItem:
        return work(task.reference if program is None else program, task, test)

    return Reference(_row(task), item_of, stub_program("def task_func(*args, **kwargs):"))


class Judge:
    """Judges samples in a backend as the pipeline judges those of users: all are executed, then all passes checked."""

    def __init__(self, backend: LocalBackend) -> None:
        self._backend, self._known = backend, Contradictions()
        self._checked: dict[str, dict] = {}

    def executed(self, samples: Sequence[Sample]) -> list[Judged]:
        """Execute each sample, in this order, as many at once as there are cores."""
        return self._execute([work(*sample) for sample in samples])

    def __call__(self, samples: Sequence[Sample]) -> list[Judged]:
        """Execute each sample and check those that passed."""
        items = [work(*sample) for sample in samples]
        found = self._execute(items)
        passes = {
            item.verdict_key: Pass(item, _reference(sample.task))
            for item, sample, one in zip(items, samples, found, strict=True)
            if one.verdict["status"] == "pass"
        }
        findings = check_passes(list(passes.values()), self._known, self._execute_unknown)
        checked = []
        for item, one in zip(items, found, strict=True):
            key = item.verdict_key
            mine = {key: findings[key]} if one.verdict["status"] == "pass" else {}
            checked.append(one._replace(verdict=applied({key: one.verdict}, mine)[key]))
        return checked

    def _execute(self, items: Sequence[WorkItem]) -> list[Judged]:
        with ThreadPoolExecutor(_SLOTS) as pool:
            return list(pool.map(self._execute_one, self._backend.prepare(items)))

    def _execute_one(self, item: WorkItem) -> Judged:
        began = time.monotonic()
        outcome = self._backend.execute(item)
        row = verdict(item, outcome, backend=self._backend.name, environment_sha="sha")
        return Judged(row, began, time.monotonic())

    def _execute_unknown(self, items: Sequence[WorkItem]) -> dict[str, dict]:
        """Execute each key once, as the ledger does."""
        todo = {item.verdict_key: item for item in items if item.verdict_key not in self._checked}
        rows = [one.verdict for one in self._execute(list(todo.values()))]
        self._checked |= dict(zip(todo, rows, strict=True))
        return {item.verdict_key: self._checked[item.verdict_key] for item in items}


def shared_out(values: Sequence[Any], *, every: int) -> list[Any]:
    """Make parameters of values: by default each ``every``-th has a test, the others where slow tests run."""
    slow = [pytest.mark.slow]
    return [
        pytest.param(one, id=getattr(one, "name", one), marks=slow * bool(n % every)) for n, one in enumerate(values)
    ]


def selected(request: pytest.FixtureRequest, parameter: str) -> list[Any]:
    """List values of a parameter for which a test of the module runs, so that nothing else is judged."""
    specs = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    values = [spec.params[parameter] for spec in specs if spec and parameter in spec.params]
    return [value for number, value in enumerate(values) if value not in values[:number]]


@pytest.fixture(
    scope="session", params=[pytest.param(False, marks=pytest.mark.slow, id="cold"), pytest.param(True, id="warm")]
)
def is_warm(request: pytest.FixtureRequest) -> bool:
    """Each way to start a sandbox: from nothing, or forked from a process that is ready."""
    return bool(request.param)


@pytest.fixture(scope="session")
def judge(is_warm: bool, starter_environment: InstalledEnvironment) -> Iterator[Judge]:  # noqa: FBT001 -- a fixture
    """Judges programs in real sandboxes, as many at once as the machine has cores."""
    admission = Admission(len(os.sched_getaffinity(0)))
    with closing(LocalBackend(starter_environment, LIMITS, warm=is_warm, admission=admission)) as backend:
        if backend.check().warm != is_warm:
            pytest.skip("sandboxes cannot be forked warm on this machine")
        yield Judge(backend)
