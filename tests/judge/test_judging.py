"""The judge without a run: programs and tests in, verdicts out."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SamplesError
from bigcodeflow.judge import Judge, Task, check
from bigcodeflow.judge.environments import InstalledEnvironment
from tests.doubles.written_tests import suite

pytestmark = pytest.mark.sandbox

_TEST = suite(
    "def test_sum(self):\n    self.assertEqual(task_func([1, 2]), 3)\n"
    "def test_empty(self):\n    self.assertEqual(task_func([]), 0)\n"
)
_RIGHT = "def task_func(numbers):\n    return sum(numbers)\n"
_LIES = "class Any:\n    def __eq__(self, other): return True\ndef task_func(numbers):\n    return Any()\n"


@pytest.fixture(scope="module")
def judge(starter_environment: InstalledEnvironment) -> Iterator[Judge]:
    with Judge(starter_environment, limits=LimitsConfig(time_seconds=10)) as judge:
        yield judge


def test_verdicts_come_in_the_order_of_the_programs(judge: Judge) -> None:
    """Equal ones are executed once; only passes of a task with a solution are checked."""
    task = Task(_TEST, _RIGHT)
    programs = [_RIGHT, _LIES, "def task_func(numbers):\n    return 3\n", "x =", _RIGHT]
    found = judge.check_all([(program, task) for program in programs])
    assert [(one["status"], one["integrity"]) for one in found] == [
        ("pass", "checked"),
        ("tampered", "tampered"),
        ("fail", None),
        ("syntax_error", None),
        ("pass", "checked"),
    ]
    assert {test["name"]: test["outcome"] for test in found[2]["tests"]} == {"test_empty": "fail", "test_sum": "pass"}
    assert found[0] == found[4]
    unchecked = judge.check(_LIES, _TEST)
    assert (unchecked["status"], unchecked["integrity"]) == ("pass", None)


def test_the_machine_is_tried_once(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call would pay for an empty sandbox otherwise."""
    assert judge.check(_RIGHT, _TEST)["status"] == "pass"
    monkeypatch.setattr(judge.backend, "check", lambda: pytest.fail("tried again"))
    assert judge.check(f"{_RIGHT}# again", _TEST)["status"] == "pass"


def test_the_altered_tests_of_a_task_are_validated_once(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _TEST.replace("3)", "3, 'once')")
    executed = []
    monkeypatch.setattr(judge, "executed", lambda item: executed.append(item.program) or Judge.executed(judge, item))
    for number in range(2):
        assert judge.check(f"{_RIGHT}# {number}", test, reference=_RIGHT)["integrity"] == "checked"
        if number == 0:
            assert _RIGHT in executed
            executed.clear()
    assert _RIGHT not in executed
    assert executed


@pytest.mark.parametrize(
    ("test", "words"),
    [("class TestCases(", "is not valid Python"), ("x = 1\n", "no class TestCases"), ("", "no class TestCases")],
)
def test_a_test_that_cannot_be_used_is_one_error(judge: Judge, test: str, words: str) -> None:
    with pytest.raises(SamplesError, match=words):
        judge.check(_RIGHT, test)


def test_an_environment_that_is_not_defined_is_one_error() -> None:
    with pytest.raises(EnvironmentUnusableError, match="is not defined: choose one of"):
        check(_RIGHT, _TEST, environment="nowhere")


def test_the_page_runs_as_a_script_without_the_libraries_of_a_run(tmp_path: Path, starter_environment: object) -> None:
    page = Path(__file__).parents[2] / "docs/judge.md"
    [example] = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    heavy = ["prefect", "dask", "distributed", "duckdb", "pyarrow", "polars"]
    example += f"import sys\nprint([name for name in {heavy} if name in sys.modules])\n"
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.split("\n"), done.stderr) == (["pass", "tampered", "[]", ""], "")
