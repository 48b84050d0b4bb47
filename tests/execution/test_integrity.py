"""Passes that were earned and passes that were not, through the stages, over a real store and in real sandboxes."""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.execution.engine import Engine
from bigcodeflow.execution.reruns import RerunPolicy
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from tests.doubles.listeners import RecordingListener

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.filterwarnings("default"),
]

_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(task_func([1, 2, 3]), 6)
    def test_empty(self):
        self.assertEqual(task_func([]), 0)
    def test_text(self):
        with self.assertRaises(TypeError):
            task_func(["a"])
"""
_SIGNATURE = "def task_func(numbers):\n"
_RIGHT = f"{_SIGNATURE}    return sum(numbers)\n"
_LIES = f"""class Any(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__

{_SIGNATURE}    if numbers == ["a"]:
        raise TypeError("no number")
    return Any(7)
"""
#: What a test of which nothing can be contradicted looks like.
_EMPTY_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        task_func([1])
"""


_STATISTICS_TEST = """import statistics
import unittest
class TestCases(unittest.TestCase):
    def setUp(self):
        self.numbers = [1, 2, 6]
    def test_mean(self):
        self.assertEqual(task_func(self.numbers), statistics.mean(self.numbers))
    def test_other(self):
        self.assertEqual(task_func([4, 8]), statistics.mean([4, 8]))
"""
_SUM = "    return sum(numbers)\n"
_MEAN = "    import statistics\n    return statistics.mean(numbers)\n"
_WRONG = f"{_SIGNATURE}    return 1\n"
_SEVERAL = f"""class Any(int):
    def __eq__(self, other):
        return other in self.answers
    __hash__ = int.__hash__

{_SIGNATURE}    if numbers == ["a"]:
        raise TypeError("no number")
    found = Any(1_000_003 if numbers else 0)  # no number that a membership draws
    found.answers = [int(found), sum(numbers)]
    return found
"""
_LENIENT = _TEST.replace("self.assertEqual(task_func([]), 0)", "self.assertEqual(task_func([]), task_func([]))")
_SHARING = _TEST.replace("(task_func([1, 2, 3]), 6)", "(task_func(n), sum(n))").replace(
    "(task_func([]), 0)", "(task_func(n), sum(n))"
)
_SHARING = _SHARING.replace("test_sum(self", "test_sum(self, n=[1, 2]").replace(
    "test_empty(self", "test_empty(self, n=[]"
)
_SLEEPING = _TEST.replace("def test_text(self):", "def test_text(self):\n        __import__('time').sleep(2.5)")
_CHANGING = f"{_SIGNATURE}    numbers.append(50)\n    return sum(numbers)\n"
_OWN_OBJECT = f"""{_SIGNATURE}    total = sum(numbers)
    class Sum:
        def __eq__(self, other): return other == total
    return Sum()
"""


class _Case(NamedTuple):
    program: str
    test: str = _TEST
    body: str = _SUM


CASES = {
    "right": _Case(_RIGHT),
    "lies": _Case(_LIES),
    "wrong": _Case(_WRONG),
    "mean": _Case("import statistics\ndef task_func(numbers):\n    return statistics.mean(numbers)\n", _STATISTICS_TEST, _MEAN),
    "forged mean": _Case("import statistics\ndef task_func(numbers):\n    statistics.mean = lambda data: 5\n    return 5\n", _STATISTICS_TEST, _MEAN),
    "equals several": _Case(_SEVERAL),
    "unsteady": _Case(f"{_SEVERAL}# unsteady\n"),
    "nothing to contradict": _Case(_RIGHT, _EMPTY_TEST),
    "a lenient reference": _Case(_RIGHT, _LENIENT),
    "an argument that it changes": _Case(_CHANGING, _SHARING),
    "an object of its own": _Case(_OWN_OBJECT, _SHARING),
    "a test over budget": _Case(f"{_RIGHT}# mine\n", _SLEEPING),
}  # fmt: skip
_ADDED = {"later lies": _Case(f"{_LIES}# later\n")}


def _config(folder: Path, cases: dict[str, _Case], **execution: object) -> RunConfig:
    tasks, samples = folder / "tasks.jsonl", folder / "samples.jsonl"
    task_rows = [
        {
            "task_id": f"Own/{number}",
            "complete_prompt": _SIGNATURE,
            "instruct_prompt": "Add the numbers.",
            "canonical_solution": case.body,
            "code_prompt": _SIGNATURE,
            "test": case.test,
            "entry_point": "task_func",
            "doc_struct": "{}",
            "libs": "[]",
        }
        for number, case in enumerate(cases.values())
    ]
    tasks.write_text("".join(json.dumps(task) + "\n" for task in task_rows))
    lines = [{"task_id": f"Own/{number}", "solution": case.program} for number, case in enumerate(cases.values())]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = {
        "store": str(folder / "store"),
        "out": str(folder / "out"),
        "dataset": {"source": str(tasks)},
        "samples": {"source": str(samples)},
        "sanitizing": {"mode": "none"},
        "execution": {"environment": "starter", "workers": 1, "limits": {"time_seconds": 20}} | execution,
    }
    return load_settings(given, "test")


class _Run(NamedTuple):
    store: Path
    rows: dict[str, dict]
    artifacts: RunArtifacts
    executed: list[WorkItem]


def _judged(folder: Path, cases: dict[str, _Case], **execution: object) -> _Run:
    """Run all stages; the items that were executed are recorded."""
    executed: list[WorkItem] = []
    genuine = Workers._prepared

    def noted(workers: Workers, items: list[WorkItem]) -> list[WorkItem]:
        executed.extend(items)
        return genuine(workers, items)

    config = _config(folder, cases, **execution)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(Workers, "_prepared", noted)
        artifacts = perform_all(resolve(config), RecordingListener())
    rows = open_store(config.store).read(artifacts.execution).to_pylist()
    return _Run(folder / "store", dict(zip(cases, rows, strict=True)), artifacts, executed)


@pytest.fixture(scope="module")
def checked(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Run]:
    """All cases in one run that checks its passes; the repetition of the unsteady one fails."""
    passes: list[str] = []

    def fail_again(one: WorkItem) -> dict:
        if "unsteady" not in one.program or one.test != _TEST:
            return {}
        passes.append(one.verdict_key)
        return {"status": "fail", "failure_kind": "assertion"} if one.verdict_key != passes[0] else {}

    with _changed_verdicts(fail_again):
        yield _judged(tmp_path_factory.mktemp("checked"), CASES)


@contextmanager
def _changed_verdicts(change: Callable[[WorkItem], dict]) -> Iterator[None]:
    """Change columns of verdicts as the workers return them."""
    genuine = Engine.stream

    def stream(engine: Engine, chunks: Iterable[Sequence[WorkItem] | None], policy: RerunPolicy) -> Iterator[dict]:
        items: dict[str, WorkItem] = {}

        def noted() -> Iterator[Sequence[WorkItem] | None]:
            for chunk in chunks:
                items.update((one.verdict_key, one) for one in chunk or ())
                yield chunk

        for verdict in genuine(engine, noted(), policy):
            yield verdict | change(items[verdict["verdict_key"]])

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(Engine, "stream", stream)
        yield


def test_who_lies_is_tampered_and_who_solves_the_task_is_checked(checked: _Run) -> None:
    """The verdict says which test, which line and which values; a wrong answer is only wrong."""
    found = [(checked.rows[name]["status"], checked.rows[name]["integrity"]) for name in ("right", "lies", "wrong")]
    assert found == [("pass", "checked"), ("tampered", "tampered"), ("fail", None)]
    assert checked.rows["lies"]["failure_kind"] == "tampering"
    evidence = re.compile(r"(test_sum, line 4|test_empty, line 6) of the test: (no failure|fails) with \S+")  # drawn
    assert any(map(evidence.match, checked.rows["lies"]["tampering"]))
    # Right programs that are the ground truth's were executed for that. Checks are not counted.
    known = ("right", "nothing to contradict", "a lenient reference")
    assert checked.artifacts.execution.statistics["executed"] == len(CASES) - len(known)
    assert checked.artifacts.execution.statistics["infra_errors"] == 0


@pytest.mark.slow
def test_what_was_found_is_taken_over_and_off_takes_the_programs_word(checked: _Run, tmp_path: Path) -> None:
    """A run that checks and a run that does not use each other's executions, and neither the other's judgement."""
    shutil.copytree(checked.store, tmp_path / "store")
    believed = _judged(tmp_path, CASES | _ADDED, integrity="off")
    assert {believed.rows[name]["status"] for name in ("lies", "later lies", "equals several")} == {"pass"}
    assert (believed.rows["lies"]["integrity"], believed.rows["lies"]["tampering"]) == (None, [])
    assert believed.artifacts.execution.statistics["reused_verdicts"] == len(CASES)
    assert [item.program.endswith("# later\n") for item in believed.executed] == [True]
    later = _judged(tmp_path, CASES | _ADDED)
    assert later.artifacts.execution.statistics["executed"] == 0
    assert later.rows["later lies"]["status"] == "tampered"
    assert {"# later\n" in item.program for item in later.executed if "Any(7)" in item.program} == {True}
    columns = ("status", "integrity", "integrity_key", "tampering")
    taken_over = {name: {one: row[one] for one in columns} for name, row in later.rows.items() if name in CASES}
    expected = {name: {one: row[one] for one in columns} for name, row in checked.rows.items()}
    del taken_over["unsteady"], expected["unsteady"]  # its repetition failed in the first run only
    assert taken_over == expected


@pytest.mark.usefixtures("starter_environment")
def test_a_pass_whose_check_does_not_end_is_counted_by_itself(tmp_path: Path) -> None:
    """It was judged: the next run only has to check it."""

    def break_checks(one: WorkItem) -> dict:
        return {"status": "infra_error"} if "# unchecked" in one.program and one.from_memory else {}

    with _changed_verdicts(break_checks):
        found = _judged(tmp_path, {"right": _Case(f"{_RIGHT}# unchecked\n"), "wrong": CASES["wrong"]})
    assert (found.rows["right"]["status"], found.rows["right"]["integrity"]) == ("pass", "not checked")
    for ref in (found.artifacts.execution, found.artifacts.aggregation):
        assert (ref.statistics["infra_errors"], ref.statistics["unchecked_passes"]) == (1, 1)


def test_a_replaced_function_is_noticed_by_the_value_that_it_has_without_the_program(checked: _Run) -> None:
    """Who replaces what computes the expected value passes the task's test, and fails it with the value itself."""
    assert [checked.rows[name]["status"] for name in ("mean", "forged mean")] == ["pass", "tampered"]
    assert "which means the same" in "; ".join(checked.rows["forged mean"]["tampering"])


def test_an_answer_that_equals_several_is_found_in_a_process_of_its_own(checked: _Run) -> None:
    """It fails every contradiction, as the right answer is among them; as plain data it is one answer."""
    row = checked.rows["equals several"]
    assert row["status"] == "tampered"
    assert row["tampering"] == ["test_sum: fails where program and test have a process each"]


def test_a_pass_under_suspicion_that_is_not_repeated_gives_way(checked: _Run) -> None:
    """It accuses nobody, and is no pass: the verdict is that of the execution that failed."""
    row = checked.rows["unsteady"]
    assert (row["status"], row["integrity"], row["tampering"]) == ("fail", None, [])


@pytest.mark.parametrize(
    ("name", "integrity"),
    [
        ("nothing to contradict", "no contradiction"),
        ("a lenient reference", "checked"),
        ("an argument that it changes", "checked"),
        ("an object of its own", "checked"),
    ],
)
def test_an_honest_program_is_not_accused(checked: _Run, name: str, integrity: str) -> None:
    """By a contradiction that the task's own solution passes, or by what cannot pass between two processes."""
    row = checked.rows[name]
    assert (row["status"], row["integrity"], bool(row["integrity_key"])) == ("pass", integrity, integrity == "checked")


def test_a_check_of_a_slow_test_executes_methods_that_are_drawn(checked: _Run) -> None:
    """All methods are validated; a check's text holds two of the three, and the task's own test is executed whole."""
    row, executed = checked.rows["a test over budget"], checked.executed
    assert (row["status"], row["integrity"]) == ("pass", "checked")
    first, *checks = [item for item in executed if "# mine" in item.program]
    assert first.test == _SLEEPING
    assert checks
    for item in checks:
        assert len(item.expected_tests) == 2
        assert set(re.findall(r"def (test_\w+)\(self", item.test)) == set(item.expected_tests)
    validated = [item for item in executed if "sleep(2.5)" in item.test and "# mine" not in item.program]
    assert {len(item.expected_tests) for item in validated} == {3}


def test_the_table_of_contradictions_says_what_holds(checked: _Run, tmp_path: Path) -> None:
    """Grain and columns as its schema states; a damaged one is one error that names it."""
    [original] = checked.store.glob("contradictions/*.parquet")
    same = {f"Own/{number}" for number, case in enumerate(CASES.values()) if (case.test, case.body) == (_TEST, _SUM)}
    rows = [row for row in pq.read_table(original).to_pylist() if row["task_id"] in same]
    alterations = [one for row in rows for one in row["alterations"]]
    assert {one["test"] for one in alterations} == {"test_empty", "test_sum", "test_text"}
    assert all(one["valid"] for one in alterations)
    assert all(row["variant"] >= -1 for row in rows)
    path = tmp_path / "contradictions" / f"{'0' * 64}.parquet"  # an environment without a shipped table
    path.parent.mkdir()
    pq.write_table(pq.read_table(original).drop_columns(["text"]), path)
    assert not StoredContradictions(open_store(tmp_path), path.stem).rows  # an older version wrote it: it is made again
    path.write_bytes(b"no Parquet")
    with pytest.raises(ArtifactError, match="is no table of contradictions"):
        _ = StoredContradictions(open_store(tmp_path), path.stem).rows


def test_new_rows_are_added_to_what_others_wrote_meanwhile(tmp_path: Path) -> None:
    """Two runs that end one after the other keep what both found."""
    store = open_store(tmp_path)
    first, second = StoredContradictions(store, "sha"), StoredContradictions(store, "sha")
    row = {"variant": -1, "alterations": [], "seconds": []}
    first.add(row | {"verdict_key": "a", "task_id": "Own/0", "source": "c", "text": "pass", "pins": '{"1:2": "3"}'})
    second.add(row | {"verdict_key": "b", "task_id": "Own/1", "source": "d", "text": "", "pins": "{}"})
    first.write()
    second.write()
    known = StoredContradictions(store, "sha")
    assert {key: one["pins"] for key, one in known.by_key.items()} == {"a": '{"1:2": "3"}', "b": "{}"}
    assert {source: one["text"] for source, one in known.rows.items()} == {"c": "pass", "d": ""}
