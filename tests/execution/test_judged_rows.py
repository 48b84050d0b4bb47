"""Rows of a stage: when checks begin, that they survive a kill, and that rows are counted from the start."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.progress import NO_STATUS, Status
from bigcodeflow.core.schemas import SOLUTIONS, TASKS
from bigcodeflow.execution import evaluation, planning
from bigcodeflow.execution.costs import Cost
from bigcodeflow.execution.evaluation import judge
from bigcodeflow.execution.executor import Executor
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.planning import Planned, Planner, plan_ground_truths
from bigcodeflow.execution.reruns import ONCE
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.expected_tests import expected_test_ids
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.integrity.contradictions import ALL_VARIANTS, Contradictions, validated_variants
from bigcodeflow.judge.items import WorkItem

from .conftest import LIMITS, judged, row_of, rows_of

pytestmark = pytest.mark.sandbox

_SETTINGS = ExecutionConfig(variants=("raw",), limits=LIMITS.model_copy(update={"time_seconds": 100.0}))
_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_small(self):
        self.assertEqual(task_func(2), {two})
    def test_large(self):
        self.assertEqual(task_func(50), {fifty})
    def test_zero(self):
        self.assertEqual(task_func(0), 0)
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

    def __init__(
        self, environment: InstalledEnvironment, backend: LocalBackend, folder: Path, solutions: Mapping = _SOLUTIONS
    ) -> None:
        rows = [
            row_of(
                TASKS, task_id=name, code_prompt=_HEAD, complete_prompt=_HEAD, canonical_solution=body, test=test,
                entry_point="task_func", expected_tests=sorted(expected_test_ids(test) or ()),
            ) for name, (body, test) in solutions.items()
        ]  # fmt: skip
        own = {"config": _SETTINGS, "environment": environment}
        self._own = own | {"ledger_folder": folder, "expected_rows": len(rows)}
        self.tasks = rows_of(TASKS, *rows)
        answers = (
            row_of(SOLUTIONS, task_id=name, solution=_HEAD + body, sanitizer="none")
            for name, (body, _) in solutions.items()
        )
        self.solutions = rows_of(SOLUTIONS, *answers)
        truths = plan_ground_truths(self.tasks, **own)
        items = {one.item.origin.task_id: one.item for one in truths}
        self.judged = partial(judged, backend)
        self.truths = {name: self.judged(one) | {"task_id": name} for name, one in items.items()}
        self.planner, self.workers = Planner(self.tasks, **own), _InTurn(environment, backend)
        self.seen: list[tuple[int, int]] = []
        self.outcomes: list[Mapping[str, int]] = []
        self.checks, self.texts = True, Contradictions()

    def __call__(self, chunks: Iterator[Sequence[Planned] | None], stop_after: int = 9) -> list[dict]:
        def progress(finished: int, total: int, _note: str = "", status: Status = NO_STATUS) -> None:
            self.seen.append((finished, total))
            self.outcomes.append(status.outcomes)
            if finished >= stop_after:
                raise ExecutionError("stopped")

        own = {"planner": self.planner, "texts": self.texts if self.checks else None}
        table, _ = judge(chunks, **own, workers=self.workers, progress=progress, **self._own)
        return table.to_pylist()

    def learn(self, truth: dict) -> None:
        """Make a ground truth known, and the texts of its task validated."""
        self.planner.learn([truth])
        wanted = [(self.planner.reference(truth["task_id"]), number) for number in ALL_VARIANTS]
        validated_variants(wanted, self.texts, lambda items: {one.verdict_key: self.judged(one) for one in items})

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


class _SamplesLast(_InTurn):
    """Workers whose sample is under way until nothing else is to be executed."""

    is_limited = False
    """True if a time limit ends what is executed beside the sample."""

    def execute(self, chunks: Iterator[list[WorkItem] | None], _policy: object, folder: Path) -> Iterator[tuple | None]:
        samples: list[WorkItem] = []
        for chunk in chunks:
            samples += [one for one in chunk or () if one.origin.sample_index is not None]
            self.under_way = {one.verdict_key: time.monotonic() - 60 for one in samples}
            change = {"status": "timeout", "exit": "killed: wall time"} if self.is_limited and samples else {}
            for one in [one for one in chunk or () if one not in samples]:
                self.executed.append(one)
                yield one, (self._executor.run(one, ONCE, self._backend, Ledger(folder)) | change, []), None
            for one in [] if chunk else [samples.pop() for _ in samples[:1]]:
                self.executed.append(one)
                yield one, (self._executor.run(one, ONCE, self._backend, Ledger(folder)), []), None
            yield None


class _Waiting:
    """Judges answers to Own/double, which is expected to wait 30 s; its truth becomes known after the answer's end."""

    def __init__(self, run: _Run, backend: LocalBackend) -> None:
        self._run, self._own = run, {"config": _SETTINGS, "environment": run._own["environment"]}
        self.truth, self.is_limited, self.stops = run.truths["Own/double"], False, False
        self._backend = backend
        run.learn(self.truth)

    def __call__(self, body: str) -> dict:
        run, program = self._run, _HEAD + body
        run.planner = Planner(run.tasks, **self._own)
        run.workers = _SamplesLast(self._own["environment"], self._backend)
        run.workers.is_limited = self.is_limited
        answer = row_of(SOLUTIONS, task_id="Own/double", solution=program, sanitizer="none")
        samples = run.planner.samples(rows_of(SOLUTIONS, answer))

        def chunks() -> Iterator[list[Planned] | None]:
            yield samples
            for _ in range(_PATIENCE):
                yield None
            if self.stops:
                raise ExecutionError("stopped")
            run.planner.learn([self.truth])
            yield samples

        [row] = run(chunks())
        return row

    @property
    def executed(self) -> tuple[list[WorkItem], list[WorkItem], list[WorkItem]]:
        """What was executed before the sample, the sample, and what was executed after it."""
        items = self._run.workers.executed
        places = [place for place, one in enumerate(items) if one.origin.sample_index is not None] or [len(items)]
        return items[: places[0]], items[places[0] :][:1], items[places[0] :][1:]


@pytest.fixture
def waiting(run: _Run, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> _Waiting:
    monkeypatch.setattr(planning, "fact_of", lambda _: Cost(seconds=30.0, cpu_seconds=0.1))
    return _Waiting(run, backend)


def test_a_sample_that_waits_is_checked_beside_itself(waiting: _Waiting) -> None:
    """Nothing is left to execute after it, and a run that knows its verdict does not check it again."""
    row = waiting("    return x + x\n")
    early, [sample], later = waiting.executed
    assert (row["status"], row["integrity"], len(later)) == ("pass", "checked", 0)
    assert early
    assert {one.program for one in early} == {sample.program}
    assert waiting("    return x + x\n")["integrity"] == "checked"
    assert waiting.executed == ([], [], [])


def test_a_failing_sample_that_waits_leaves_no_check(waiting: _Waiting, run: _Run) -> None:
    row = waiting("    return 3 * x\n")
    early, _, later = waiting.executed
    assert (row["status"], row["integrity"], row["tampering"]) == ("fail", None, [])
    assert (bool(early), later) == (True, [])
    assert not list(Ledger(run._own["ledger_folder"]).checks())


def test_a_forged_pass_that_waits_is_tampered(waiting: _Waiting) -> None:
    """An offence beside the sample is an offence: the rounds that decide follow after the pass."""
    row = waiting('    return type("Any", (int,), {"__eq__": lambda *_: True, "__hash__": int.__hash__})(7)\n')
    early, _, later = waiting.executed
    assert (row["status"], row["integrity"]) == ("tampered", "tampered")
    assert not {one.verdict_key for one in later} & {one.verdict_key for one in early}


def test_an_early_execution_that_meets_its_limit_is_repeated(waiting: _Waiting) -> None:
    """Its limit is tighter than that of the check, so it accuses nobody."""
    waiting.is_limited = True
    row = waiting("    return x + x\n")
    early, _, later = waiting.executed
    assert (row["status"], row["integrity"]) == ("pass", "checked")
    assert [one.test for one in later] == [one.test for one in early]
    assert all(one.time_seconds < two.time_seconds for one, two in zip(early, later, strict=True))


def test_a_check_that_the_expected_time_made_too_small_is_repeated(waiting: _Waiting, run: _Run) -> None:
    """Validation measured slow methods, so that an early text holds two; the ground truth is fast, so all are due."""
    for known in run.texts.rows.values():
        known["seconds"] = [9.0 for _ in known["seconds"]]
    row = waiting("    return x + x\n")
    early, _, later = waiting.executed
    assert (row["status"], row["integrity"]) == ("pass", "checked")
    assert ({len(one.expected_tests) for one in early}, {len(one.expected_tests) for one in later}) == ({2}, {3})


def test_a_kill_between_the_sample_and_its_check_repeats_no_sample(waiting: _Waiting, run: _Run) -> None:
    """The next run draws other texts; each recorded execution has a key of its own."""
    waiting.stops = True
    with pytest.raises(ExecutionError, match="stopped"):
        waiting("    return x + x\n")
    before = waiting.executed
    waiting.stops = False
    assert waiting("    return x + x\n")["integrity"] == "checked"
    assert (bool(before[0]), len(before[1]), waiting.executed[1]) == (True, 1, [])
    keys = [line["verdict_key"] for line in Ledger(run._own["ledger_folder"]).read()]
    assert len(keys) == len(set(keys))


class _Recorded(Workers):
    """Workers that record which items they received and which ended, in order."""

    events: tuple[tuple[str, WorkItem], ...] = ()

    def execute(self, chunks: Iterator[list[WorkItem] | None], *others: object) -> Iterator[tuple | None]:
        def noted() -> Iterator[list[WorkItem] | None]:
            for chunk in chunks:
                self.events += tuple(("begin", one) for one in chunk or ())
                yield chunk

        for one in super().execute(noted(), *others):
            self.events += (("end", one[0]),) if one else ()
            yield one


@pytest.mark.slow
def test_workers_check_a_sample_while_it_sleeps(
    starter_environment: InstalledEnvironment, backend: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method without an assertion sleeps for twenty seconds; the check, which lacks it, begins before the end."""
    body, test = _SOLUTIONS["Own/double"]
    test += "    def test_wait(self):\n        __import__('time').sleep(20)\n"
    run = _Run(starter_environment, backend, tmp_path / "ledger", {"Own/double": (body, test)})
    run.solutions = rows_of(
        SOLUTIONS, row_of(SOLUTIONS, task_id="Own/double", solution=f"{_HEAD}{body}# mine\n", sanitizer="none")
    )
    monkeypatch.setattr(evaluation, "_EARLY_AFTER_SECONDS", 0.0)
    run.learn(run.truths["Own/double"] | {"wall_seconds": 30.0})
    samples = run.planner.samples(run.solutions)
    with _Recorded(_SETTINGS, starter_environment) as run.workers:
        [row] = run(iter([samples, samples]))
    own = [event for event, one in run.workers.events if one.origin.sample_index == 0]
    [end] = [place for place, (_, one) in enumerate(run.workers.events) if one.origin.sample_index == 0][1:]
    assert (row["status"], row["integrity"], own) == ("pass", "checked", ["begin", "end"])
    assert [event for event, _ in run.workers.events[:end]].count("begin") > 1
    assert "begin" not in [event for event, _ in run.workers.events[end:]]
