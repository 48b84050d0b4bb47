"""Rows of a stage: checks begin with their own ground truth, survive a kill, and rows are counted from the start."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.progress import NO_STATUS, Status
from bigcodeflow.core.schemas import SOLUTIONS, TASKS
from bigcodeflow.execution.evaluation import judge
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.planning import Planned, Planner, plan_ground_truths
from bigcodeflow.execution.reruns import ONCE
from bigcodeflow.execution.workers import Executor
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.integrity.contradictions import Contradictions
from bigcodeflow.judge.items import WorkItem

from .conftest import LIMITS, judged, row_of, rows_of

pytestmark = pytest.mark.sandbox

_SETTINGS = ExecutionConfig(variants=("raw",), limits=LIMITS)
_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_small(self):
        self.assertEqual(task_func(2), {two})
    def test_large(self):
        self.assertEqual(task_func(50), {fifty})
"""
_SOLUTIONS = {
    "Own/double": ("    return 2 * x\n", _TEST.format(two=4, fifty=100)),
    "Own/square": ("    return x * x\n", _TEST.format(two=4, fifty=2500)),
}
_HEAD = "def task_func(x):\n"
#: Polls without anything new after which a source that waits gives up.
_PATIENCE = 50


class _InTurn:
    """Workers that execute item after item in this process, and record them."""

    under_way = MappingProxyType({})

    def __init__(self, environment: InstalledEnvironment, backend: LocalBackend) -> None:
        self._executor, self._backend = Executor(_SETTINGS, environment), backend
        self.executed: list[WorkItem] = []

    def execute(self, chunks: Iterator[list[WorkItem] | None], _policy: object, folder: Path) -> Iterator[tuple | None]:
        for chunk in chunks:
            if chunk is None:
                yield None
            for one in chunk or ():
                self.executed.append(one)
                yield one, (self._executor.run(one, ONCE, self._backend, Ledger(folder)), []), None


class _Run:
    """Two tasks whose samples are their own solutions, in a stage whose ground truths arrive later."""

    def __init__(self, environment: InstalledEnvironment, backend: LocalBackend, folder: Path) -> None:
        rows = [
            row_of(
                TASKS, task_id=name, code_prompt=_HEAD, complete_prompt=_HEAD, canonical_solution=body, test=test,
                entry_point="task_func", expected_tests=["test_small", "test_large"],
            ) for name, (body, test) in _SOLUTIONS.items()
        ]  # fmt: skip
        own = {"config": _SETTINGS, "environment": environment}
        self._own = own | {"ledger_folder": folder, "expected_rows": len(rows)}
        self.tasks = rows_of(TASKS, *rows)
        answers = (
            row_of(SOLUTIONS, task_id=name, solution=_HEAD + body, sanitizer="none")
            for name, (body, _) in _SOLUTIONS.items()
        )
        self.solutions = rows_of(SOLUTIONS, *answers)
        truths = plan_ground_truths(self.tasks, **own)
        items = {one.item.origin.task_id: one.item for one in truths}
        self.truths = {name: judged(backend, one) | {"task_id": name} for name, one in items.items()}
        self.planner, self.workers = Planner(self.tasks, **own), _InTurn(environment, backend)
        self.seen: list[tuple[int, int]] = []
        self.outcomes: list[Mapping[str, int]] = []
        self.checks = True

    def __call__(self, chunks: Iterator[Sequence[Planned] | None], stop_after: int = 9) -> list[dict]:
        def progress(finished: int, total: int, _note: str = "", status: Status = NO_STATUS) -> None:
            self.seen.append((finished, total))
            self.outcomes.append(status.outcomes)
            if finished >= stop_after:
                raise ExecutionError("stopped")

        own = {"planner": self.planner, "texts": Contradictions() if self.checks else None}
        table, _ = judge(chunks, **own, workers=self.workers, progress=progress, **self._own)
        return table.to_pylist()

    def chunks(self, *names: str) -> Iterator[list[Planned] | None]:
        """Plan all samples; then hand over one truth after the other, each when all rows before are final."""
        yield self.planner.samples(self.solutions)
        for count, name in enumerate(names):
            for _ in range(_PATIENCE):
                if self.seen and self.seen[-1][0] == count:
                    break
                yield None
            self.planner.learn([self.truths[name]])
            yield None
        yield self.planner.samples(self.solutions)


@pytest.fixture
def run(starter_environment: InstalledEnvironment, backend: LocalBackend, tmp_path: Path) -> _Run:
    return _Run(starter_environment, backend, tmp_path / "ledger")


def test_a_pass_is_checked_as_soon_as_its_own_ground_truth_is_known(run: _Run) -> None:
    """The other's truth comes only when the first row is final; the number of rows never changes."""
    rows = run(run.chunks("Own/square", "Own/double"))
    assert [row["integrity"] for row in rows] == ["checked"] * 2
    assert [row["task_id"] for row in rows] == list(_SOLUTIONS)
    assert {total for _, total in run.seen} == {2}
    assert [done for done, _ in run.seen] == sorted(done for done, _ in run.seen)
    programs = [one.program for one in run.workers.executed]
    first, last = programs.index(_HEAD + "    return x * x\n", 2), len(programs) - programs[::-1].index(programs[0])
    assert first < last


def test_the_live_count_is_of_final_verdicts(run: _Run) -> None:
    """A failure counts at once, a pass when its check has ended; the counts add up to the finished rows."""
    wrong = row_of(SOLUTIONS, task_id="Own/double", solution=_HEAD + "    return 3 * x\n", sanitizer="none")
    run.solutions = rows_of(SOLUTIONS, wrong, run.solutions.to_pylist()[1])
    run(run.chunks("Own/double", "Own/square"))
    assert [sum(counts.values()) for counts in run.outcomes] == [finished for finished, _ in run.seen]
    distinct = [dict(counts) for place, counts in enumerate(run.outcomes) if counts not in run.outcomes[:place]]
    assert distinct in ([{}, {"assertion": 1}, {"assertion": 1, "": 1}], [{"assertion": 1}, {"assertion": 1, "": 1}])


def test_a_pass_without_a_passing_ground_truth_is_not_checked(run: _Run) -> None:
    run.truths["Own/double"] = run.truths["Own/double"] | {"status": "fail"}
    rows = run(run.chunks("Own/double", "Own/square"))
    assert {row["task_id"]: row["integrity"] for row in rows} == {"Own/double": None, "Own/square": "checked"}


@pytest.mark.parametrize("checks", [True, False])
def test_what_the_environment_lacks_is_learned_after_the_execution(run: _Run, *, checks: bool) -> None:
    """A sample that fails by a library which the task's own solution lacks as well judges nothing."""
    run.checks = checks
    lacking = _HEAD + "    import nosuchlibrary\n    return 2 * x\n"
    run.solutions = rows_of(
        SOLUTIONS, row_of(SOLUTIONS, task_id="Own/double", solution=lacking, sanitizer="none"),
        row_of(SOLUTIONS, task_id="Own/square", solution=lacking, sanitizer="none"),
    )  # fmt: skip
    trace = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'nosuchlibrary'\n"
    run.truths["Own/double"] |= {"status": "infra_error", "module_trace": trace}
    rows = run(run.chunks("Own/square", "Own/double"))
    assert {row["task_id"]: row["status"] for row in rows} == {"Own/double": "infra_error", "Own/square": "fail"}


def test_a_check_that_ended_before_a_kill_is_not_repeated(run: _Run) -> None:
    """The next run executes the checks that are left, and no sample."""
    with pytest.raises(ExecutionError, match="stopped"):
        run(run.chunks("Own/square", "Own/double"), stop_after=1)
    before = len(run.workers.executed)
    run.seen.clear()
    rows = run(iter([run.planner.samples(run.solutions), *_learned(run), run.planner.samples(run.solutions)]))
    assert [row["integrity"] for row in rows] == ["checked"] * 2
    again = {one.program for one in run.workers.executed[before:]}
    assert _HEAD + "    return x * x\n" not in again
    keys = [line["verdict_key"] for line in Ledger(run._own["ledger_folder"]).read()]
    assert len(keys) == len(set(keys))


def _learned(run: _Run) -> list[None]:
    run.planner.learn(run.truths.values())
    return [None]
