"""Validation names every bad row at once, with the remedy."""

import re
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.datasets import load_tasks, resolve, validate_source
from bigcodeflow.datasets.sources import SourceRow
from bigcodeflow.datasets.tasks import validate
from tests.conftest import ROOT

from .conftest import load


def _rows(*tasks: dict[str, Any]) -> list[SourceRow]:
    return [SourceRow(f"mine.jsonl, line {number}", task) for number, task in enumerate(tasks, start=1)]


def test_a_sound_task_has_no_problems(make_task) -> None:
    """Rows that are tasks have no problems, and no rows have none."""
    assert validate(_rows(make_task(0), make_task(1, libs=["json"], hard=None, domains=["X"]))) == []
    assert validate([]) == []


_TEST = "import unittest\nclass TestCases(unittest.TestCase):\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"complete_prompt": 3}, "complete_prompt must be text, not int"),
        ({"doc_struct": None}, "doc_struct must be text, not NoneType"),
        ({"instruct_prompt": " \n"}, "instruct_prompt is empty: write the prompt"),
        ({"task_id": ""}, "task_id is empty"),
        ({"test": "\ud800"}, "test holds half of a surrogate pair"),
        ({"libs": "json"}, "libs is not the text of a list"),
        ({"libs": "{'json'}"}, "libs is not a list of text"),
        ({"libs": [1]}, "libs is not a list of text"),
        ({"hard": "yes"}, "hard must be true or false, not str"),
        ({"domains": "General"}, "domains is not a list of text"),
        ({"expected_tests": []}, "expected_tests is empty, so that any program would pass"),
        ({"canonical_solution": "  return (\n"}, "complete_prompt + canonical_solution does not compile (line "),
        ({"code_prompt": "def task_func(x)"}, "code_prompt + '    pass' does not compile (line 1"),
        ({"test": "class TestCases(:\n"}, "test does not compile (line 1"),
        ({"test": "x = 1\0"}, "test does not compile ("),
        ({"test": "def test_a(): pass\n"}, "test has no class TestCases"),
        ({"test": _TEST + "    pass\n"}, "class TestCases has no method whose name starts with 'test'"),
        ({"entry_point": "other"}, "entry_point 'other' is not defined by complete_prompt + canonical_solution"),
    ],
)
def test_each_defect_is_one_line_with_place_and_remedy(make_task, changes: dict, message: str) -> None:
    """A defect is reported once, beginning with line and task id and ending in what to do."""
    row = make_task(**changes)
    problems = validate(_rows(make_task(99), row))
    assert len(problems) == 1
    where = f"mine.jsonl, line 2 ({row['task_id']}): "
    assert problems[0].startswith(where + message)
    assert ": " in problems[0].removeprefix(where)
    assert "\n" not in problems[0]


def test_all_bad_rows_are_named_at_once(make_task) -> None:
    """Several rows with several defects give all of them in row order; duplicates point at both places."""
    lacking = make_task(2)
    del lacking["libs"]
    rows = _rows(make_task(0, entry_point="f"), make_task(1, complete_prompt="", libs=3), lacking, make_task(0))
    problems = validate(rows)
    assert [problem.split(": ")[0] for problem in problems] == [
        "mine.jsonl, line 1 (Mine/0)",
        "mine.jsonl, line 2 (Mine/1)",
        "mine.jsonl, line 2 (Mine/1)",
        "mine.jsonl, line 3 (Mine/2)",
        "mine.jsonl, line 4 (Mine/0)",
    ]
    assert "column 'libs' is missing" in problems[-2]
    assert problems[-1].endswith("task_id is also used in mine.jsonl, line 1: give each task its own id")


def test_a_column_that_no_row_has_is_said_once(make_task) -> None:
    """A thousand rows without a column are one problem, not a thousand."""
    tasks = [make_task(number) for number in range(9)]
    for task in tasks:
        del task["code_prompt"]
    assert validate(_rows(*tasks)) == ["mine.jsonl, line 1: column 'code_prompt' is missing in every row: add it"]
    assert len(validate(_rows({"other": 1}))) == len(HUB_COLUMNS)


@pytest.mark.parametrize(
    "changes",
    [
        {"test": "\n\ndef helper(): pass\n" + _TEST + "    def test_a(self): pass\n"},
        {"test": _TEST + "    pass\n", "expected_tests": ["test_generated"]},
        {"entry_point": "solve", "complete_prompt": "solve = lambda x: x\n", "canonical_solution": ""},
        {"entry_point": "Solver", "complete_prompt": "class Solver:\n", "canonical_solution": "    pass"},
        {"canonical_solution": "    return '\\d' is x\n"},
        {"libs": "[]"},
    ],
)
def test_unusual_tasks_are_sound(make_task, changes: dict) -> None:
    """Tests may start with anything, be made at run time when they are listed, and test any kind of callable."""
    assert validate(_rows(make_task(**changes))) == []


def test_loading_refuses_what_validation_finds(make_task, write_parquet) -> None:
    """A run never starts on rows that validation objects to; both say the same."""
    path = write_parquet([make_task(0), make_task(0)])
    config = DatasetConfig(source=str(path))
    (problem,) = validate_source(config)
    with pytest.raises(DatasetError) as caught:
        load_tasks(config, resolve(config))
    assert str(caught.value) == problem
    assert problem.startswith(f"{path}, row 2 (Mine/0)")


def test_the_task_of_the_documentation_is_sound(tmp_path: Path) -> None:
    """A reader who copies the example has a valid task file; each column that a file may have is described."""
    text = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"```json\n(.*)\n```", text)
    path = tmp_path / "mine.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    assert validate_source(DatasetConfig(source=str(path))) == []
    assert all(f"\n| `{name}` |" in text for name in (*HUB_COLUMNS, "hard", "domains", "expected_tests"))


def test_the_starter_set_is_a_dataset_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tasks are sound, and need no hub."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert validate_source(DatasetConfig(source="starter")) == []
    assert 0 < load("starter", subset="hard").num_rows < load("starter").num_rows
