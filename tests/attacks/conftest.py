"""What the attack suites share: programs as work, and the sandboxes that judge them."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge import Judge, Task
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.expected_tests import expected_test_ids
from bigcodeflow.judge.items import WorkItem, work_item

from .reading import Exhibit

LIMITS = LimitsConfig(time_seconds=20, memory_mib=700, processes=64, disk_mib=16, output_kib=16)


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


def work(program: str, task: Exhibit) -> WorkItem:
    """The execution of a program as an answer to a task, for one backend or another."""
    row = {"test": task.test, "expected_tests": expected_test_ids(task.test)}
    return work_item(program=program, task=row, missing_imports=frozenset(), environment_sha="sha", limits=LIMITS)


class TimedJudge(Judge):
    """Judges samples, and notes when each was executed first."""

    def __init__(self, environment: InstalledEnvironment, *, warm: bool, cores: int = 0) -> None:
        super().__init__(environment, limits=LIMITS, warm=warm, cores=cores)
        self._times: dict[str, tuple[float, float]] = {}

    def executed(self, item: WorkItem) -> dict:
        began = time.monotonic()
        row = super().executed(item)
        self._times.setdefault(item.verdict_key, (began, time.monotonic()))
        return row

    def unchecked(self, samples: Sequence[Sample]) -> list[Judged]:
        """Execute each sample, in this order, and check none."""
        return self._timed([(one.program, Task(one.task.test)) for one in samples])

    def __call__(self, samples: Sequence[Sample]) -> list[Judged]:
        """Execute each sample and check those that passed."""
        return self._timed([(one.program, Task(one.task.test, one.task.reference)) for one in samples])

    def _timed(self, samples: Sequence[tuple[str, Task]]) -> list[Judged]:
        return [Judged(row, *self._times[row["verdict_key"]]) for row in self.check_all(samples)]


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
def judge(is_warm: bool, starter_environment: InstalledEnvironment) -> Iterator[TimedJudge]:  # noqa: FBT001 -- a fixture
    """Judges programs in real sandboxes, as many at once as the machine has cores."""
    with TimedJudge(starter_environment, warm=is_warm) as judge:
        if judge.backend.check().warm != is_warm:
            pytest.skip("sandboxes cannot be forked warm on this machine")
        yield judge
