"""Passes that were earned and passes that were not, through the stages, over a real store and in real sandboxes."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.execution.engine import Engine
from bigcodeflow.execution.integrity.contradictions import Contradictions
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.workers import Workers
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from tests.doubles.listeners import RecordingListener

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.usefixtures("starter_environment"),
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


def _task(number: int, test: str = _TEST) -> dict:
    return {
        "task_id": f"Own/{number}",
        "complete_prompt": _SIGNATURE,
        "instruct_prompt": "Add the numbers.",
        "canonical_solution": "    return sum(numbers)\n",
        "code_prompt": _SIGNATURE,
        "test": test,
        "entry_point": "task_func",
        "doc_struct": "{}",
        "libs": "[]",
    }


def _config(folder: Path, programs: list[str], *, tests: list[str] | None = None, **execution: object) -> RunConfig:
    tasks, samples = folder / "tasks.jsonl", folder / "samples.jsonl"
    task_rows = [_task(number, test) for number, test in enumerate(tests or [_TEST] * len(programs))]
    tasks.write_text("".join(json.dumps(task) + "\n" for task in task_rows))
    lines = [{"task_id": f"Own/{number}", "solution": program} for number, program in enumerate(programs)]
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


def _judged(config: RunConfig) -> tuple[list[dict], RunArtifacts]:
    artifacts = perform_all(config, RecordingListener())
    return open_store(config.store).read(artifacts.execution).to_pylist(), artifacts


def _executions(ledgers: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in ledgers.glob("*/*.jsonl"))


def _recorded(monkeypatch: pytest.MonkeyPatch) -> list[WorkItem]:
    """What is executed from now on; it is executed all the same."""
    executed: list[WorkItem] = []
    genuine = Workers._prepared

    def noted(workers: Workers, items: list[WorkItem]) -> list[WorkItem]:
        executed.extend(items)
        return genuine(workers, items)

    monkeypatch.setattr(Workers, "_prepared", noted)
    return executed


def test_who_lies_is_tampered_and_who_solves_the_task_is_checked(tmp_path: Path) -> None:
    """The verdict says which test, which line and which values; a wrong answer is only wrong."""
    rows, artifacts = _judged(_config(tmp_path, [_RIGHT, _LIES, f"{_SIGNATURE}    return 1\n"]))
    found = [(row["status"], row["integrity"]) for row in rows]
    assert found == [("pass", "checked"), ("tampered", "tampered"), ("fail", None)]
    assert rows[1]["failure_kind"] == "tampering"
    assert any("test_sum, line 4 of the test: no failure with" in line for line in rows[1]["tampering"])
    # The right program is the ground truth's: it was executed for that. Checks are not counted.
    assert artifacts.execution.statistics["executed"] == 2
    assert artifacts.execution.statistics["infra_errors"] == 0


def test_what_was_found_is_not_executed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run with the same programs and more of them takes over verdicts, checks and contradictions."""
    first, _ = _judged(_config(tmp_path, [_RIGHT, _LIES]))
    executed = _recorded(monkeypatch)
    later, artifacts = _judged(_config(tmp_path, [_RIGHT, _LIES, f"{_SIGNATURE}    return 1\n"]))
    assert artifacts.execution.statistics["reused_verdicts"] == 2
    # The third task's ground truth is that of the first two; its sample is all that is new.
    assert [item.program.endswith("return 1\n") for item in executed] == [True]
    columns = ("status", "integrity", "integrity_key", "tampering")
    assert [[row[name] for name in columns] for row in later[:2]] == [[row[name] for name in columns] for row in first]


def test_off_takes_the_programs_word_whatever_a_checked_run_found(tmp_path: Path) -> None:
    """The verdict of a run that checked stands in for the execution, and not for its check; and the other way round."""
    checked, _ = _judged(_config(tmp_path, [_LIES]))
    believed, artifacts = _judged(_config(tmp_path, [_LIES], integrity="off"))
    assert (checked[0]["status"], believed[0]["status"], believed[0]["integrity"]) == ("tampered", "pass", None)
    assert (believed[0]["tampering"], artifacts.execution.statistics["reused_verdicts"]) == ([], 1)
    shutil.rmtree(tmp_path / "store" / "execution")
    _judged(_config(tmp_path, [_LIES], integrity="off"))
    again, _ = _judged(_config(tmp_path, [_LIES]))
    assert again[0]["status"] == "tampered"


def test_a_replaced_helper_is_found_by_the_value_that_it_has_without_the_program(tmp_path: Path) -> None:
    """Who replaces what computes the expected value passes the task's test, and fails it with the value itself."""
    test = """import statistics
import unittest
class TestCases(unittest.TestCase):
    def setUp(self):
        self.numbers = [1, 2, 6]
    def test_mean(self):
        self.assertEqual(task_func(self.numbers), statistics.mean(self.numbers))
    def test_other(self):
        self.assertEqual(task_func([4, 8]), statistics.mean([4, 8]))
"""
    honest = "import statistics\ndef task_func(numbers):\n    return statistics.mean(numbers)\n"
    forged = "import statistics\ndef task_func(numbers):\n    statistics.mean = lambda data: 5\n    return 5\n"
    config = _config(tmp_path, [honest, forged], tests=[test, test])
    tasks = tmp_path / "tasks.jsonl"
    task_rows = [json.loads(line) for line in tasks.read_text().splitlines()]
    body = "    import statistics\n    return statistics.mean(numbers)\n"
    tasks.write_text("".join(json.dumps(task | {"canonical_solution": body}) + "\n" for task in task_rows))
    rows, _ = _judged(config)
    assert [row["status"] for row in rows] == ["pass", "tampered"]
    assert "without the program" in "; ".join(rows[1]["tampering"])


_SEVERAL = f"""class Any(int):
    def __eq__(self, other):
        return other in self.answers
    __hash__ = int.__hash__

{_SIGNATURE}    if numbers == ["a"]:
        raise TypeError("no number")
    found = Any(max(numbers, default=0))
    found.answers = [max(numbers, default=0), sum(numbers)]
    return found
"""


def test_an_answer_that_equals_several_is_found_in_a_process_of_its_own(tmp_path: Path) -> None:
    """It fails every contradiction, as the right answer is among them; as plain data it is one answer."""
    rows, artifacts = _judged(_config(tmp_path, [_SEVERAL]))
    assert [(row["status"], row["tampering"]) for row in rows] == [
        ("tampered", ["test_sum: fails where program and test have a process each"])
    ]
    assert artifacts.execution.statistics["infra_errors"] == 0


def test_a_pass_under_suspicion_that_is_not_repeated_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It accuses nobody, and is no pass: the verdict is that of the execution that failed."""
    genuine = Engine.verdicts  # of checks alone: the stage's own executions, of which the pass is one, are streamed

    def unsteady(engine: Engine, items: Iterable[WorkItem]) -> dict[str, dict]:
        items = list(items)
        found = genuine(engine, items)
        again = [one.verdict_key for one in items if "Any(" in one.program and one.test == _TEST]
        return found | {key: found[key] | {"status": "fail", "failure_kind": "assertion"} for key in again}

    monkeypatch.setattr(Engine, "verdicts", unsteady)
    rows, _ = _judged(_config(tmp_path, [_SEVERAL]))
    assert [(row["status"], row["integrity"], row["tampering"]) for row in rows] == [("fail", None, [])]


_LENIENT = _TEST.replace("self.assertEqual(task_func([]), 0)", "self.assertEqual(task_func([]), task_func([]))")
_SHARING = _TEST.replace("(task_func([1, 2, 3]), 6)", "(task_func(n), sum(n))").replace(
    "(task_func([]), 0)", "(task_func(n), sum(n))"
)
_SHARING = _SHARING.replace("test_sum(self", "test_sum(self, n=[1, 2]").replace(
    "test_empty(self", "test_empty(self, n=[]"
)


@pytest.mark.parametrize(
    ("body", "test", "integrity"),
    [
        ("return sum(numbers)", _EMPTY_TEST, "no contradiction"),
        ("return sum(numbers)", _LENIENT, "checked"),
        ("numbers.append(50)\n    return sum(numbers)", _SHARING, "checked"),
        ("total = sum(numbers)\n    class Sum:\n        def __eq__(self, other): return other == total\n    return Sum()", _SHARING, "checked"),
    ],
    ids=["nothing to contradict", "a lenient reference", "an argument that it changes", "an object of its own"],
)  # fmt: skip
def test_an_honest_program_is_not_accused(tmp_path: Path, body: str, test: str, integrity: str) -> None:
    """By a contradiction that the task's own solution passes, or by what cannot pass between two processes."""
    [row], _ = _judged(_config(tmp_path, [f"{_SIGNATURE}    {body}\n"], tests=[test]))
    assert (row["status"], row["integrity"], bool(row["integrity_key"])) == ("pass", integrity, integrity == "checked")


def test_a_check_is_ended_before_the_test_that_overruns_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes before it is checked all the same; the reference solution runs to its end."""
    executed = _recorded(monkeypatch)
    test = _TEST.replace("def test_text(self):", "def test_text(self):\n        __import__('time').sleep(0.6)")
    rows, _ = _judged(_config(tmp_path, [f"{_RIGHT}# mine\n"], tests=[test]))
    assert [(row["status"], row["integrity"]) for row in rows] == [("pass", "checked")]
    assert [item.stop_after for item in executed if "mine" in item.program] == [0, 2]
    assert not any(item.stop_after for item in executed if "mine" not in item.program)


def test_the_table_of_contradictions_says_what_holds(tmp_path: Path) -> None:
    """Grain and columns as its schema states; a damaged one is one error that names it."""
    config = _config(tmp_path, [_RIGHT])
    _judged(config)
    [path] = (tmp_path / "store" / "contradictions").glob("*.parquet")
    rows = pq.read_table(path).to_pylist()
    alterations = [one for row in rows for one in row["alterations"]]
    assert {one["test"] for one in alterations} == {"test_empty", "test_sum", "test_text"}
    assert all(one["valid"] for one in alterations)
    assert all(row["variant"] >= -1 for row in rows)
    pq.write_table(pq.read_table(path).drop_columns(["text"]), path)
    assert not Contradictions(open_store(config.store), path.stem).rows  # an older version wrote it: it is made again
    path.write_bytes(b"no Parquet")
    with pytest.raises(ArtifactError, match="is no table of contradictions"):
        Contradictions(open_store(config.store), path.stem)


def test_new_rows_are_added_to_what_others_wrote_meanwhile(tmp_path: Path) -> None:
    """Two runs that end one after the other keep what both found."""
    store = open_store(tmp_path)
    first, second = Contradictions(store, "sha"), Contradictions(store, "sha")
    row = {"variant": -1, "alterations": [], "seconds": []}
    first.add(row | {"verdict_key": "a", "task_id": "Own/0", "source": "c", "text": "pass", "pins": '{"1:2": "3"}'})
    second.add(row | {"verdict_key": "b", "task_id": "Own/1", "source": "d", "text": "", "pins": "{}"})
    first.write()
    second.write()
    known = Contradictions(store, "sha")
    assert {key: one["pins"] for key, one in known.rows.items()} == {"a": '{"1:2": "3"}', "b": "{}"}
    assert {source: one["text"] for source, one in known.by_source.items()} == {"c": "pass", "d": ""}
