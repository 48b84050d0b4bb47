"""The build script: its files are up to date, its columns are the hub's, and its errors say where and what to do."""

import ast
import json
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from bigcodeflow.core.errors import DatasetError

STARTER = Path(__file__).parents[2] / "data" / "starter"
SOURCE = '''import os

LIMIT = 3


def task_func(a):
    """
    Do it.

    Parameters:
    - a (int): The number.

    Returns:
    - int: The result.

    Raises:
    - ValueError: If it cannot be done.

    Requirements:
    - os

    Example:
    >>> task_func(1)
    1
    """
    return a


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_one(self):
        self.assertEqual(task_func(1), 1)
'''
ANSWERS = "=== answer 0: pass — good ===\ncode\n=== answer 1: fail/assertion, robust: pass — bad ===\n\nother\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "answers").mkdir()
    (tmp_path / "tasks" / "00_one.py").write_text(SOURCE)
    (tmp_path / "answers" / "00_one.md").write_text(ANSWERS)
    return tmp_path


def refused(build: ModuleType, folder: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        build.outputs(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_derived_files_are_up_to_date(build: ModuleType) -> None:
    """They are byte for byte what the set's own readable files give; each task file has an answer file."""
    assert build.FOLDER == STARTER
    assert build.stale() == []
    assert {path.stem for path in STARTER.glob("tasks/*.py")} == {path.stem for path in STARTER.glob("answers/*.md")}


def test_a_task_is_cut_into_the_hubs_columns(build: ModuleType, folder: Path) -> None:
    """Its parts become columns with the hub's blank lines and line ends; the prose has the hub's sentences in order."""
    (row,) = build.build_tasks(folder)
    head, tail = SOURCE.split("\n\n\n# --- tests ---\n")
    assert row["complete_prompt"] + row["canonical_solution"] == head
    assert row["canonical_solution"] == "    return a"
    assert row["code_prompt"] == "import os\nLIMIT = 3\ndef task_func(a):\n"
    assert row["test"] == tail.rstrip("\n")
    assert (row["libs"], row["domains"], row["hard"]) == ("['os']", ["System"], False)
    assert row["instruct_prompt"] == (
        "Do it.\n"
        "The function should raise the exception for: ValueError: If it cannot be done.\n"
        "The function should output with:\n"
        "    int: The result.\n"
        "You should write self-contained code starting with:\n"
        "```\nimport os\nLIMIT = 3\ndef task_func(a):\n```"
    )


def test_a_task_can_be_hard_and_have_notes(build: ModuleType, folder: Path) -> None:
    """The first line '# hard' does not enter the prompt; notes become 'Note that:' in the prose, before the errors."""
    noted = SOURCE.replace("    Example:\n", "    Notes:\n    - Mind the gap.\n\n    Example:\n")
    (folder / "tasks" / "00_one.py").write_text("# hard\n" + noted)
    (row,) = build.build_tasks(folder)
    assert row["hard"] is True
    assert row["complete_prompt"].startswith("import os\n")
    assert "Do it.\nNote that: Mind the gap.\nThe function should raise" in row["instruct_prompt"]


def test_answers_carry_their_labels(build: ModuleType, folder: Path) -> None:
    """The line above an answer gives its expected verdicts and its note; the robust one defaults to the other."""
    first, second = build.build_answers(folder)
    assert first == {
        "task_id": "Starter/0",
        "raw_solution": "code",
        "provenance": "hand-written",
        "expected_status": "pass",
        "expected_failure_kind": "",
        "expected_status_robust": "pass",
        "note": "good",
    }
    labels = [second[key] for key in ("expected_status", "expected_failure_kind", "expected_status_robust")]
    assert labels == ["fail", "assertion", "pass"]
    assert second["raw_solution"] == "other"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("tasks/00_one.py", SOURCE.replace("# --- tests ---", "# tests"), "has no line '# --- tests ---'"),
        ("tasks/00_one.py", SOURCE.replace("def task_func", "def other"), "must end with 'def task_func'"),
        ("tasks/00_one.py", SOURCE.replace("return a", "return ("), "a task file must be valid Python"),
        ("tasks/00_one.py", SOURCE.replace("    return a", ""), "needs a docstring and a body"),
        ("tasks/00_one.py", SOURCE.replace("import os\n", "import zebra\n"), "no domain is known for zebra"),
        ("tasks/02_two.py", SOURCE, "01_ is due"),
        ("answers/00_one.md", "code without a line of its own", ":1: must be of the form"),
        ("answers/00_one.md", ANSWERS.replace("answer 1", "answer 2"), ":3: is answer 2"),
        ("answers/00_one.md", ANSWERS.replace("fail/", "failed/"), ":3: status 'failed' is not one of"),
        ("answers/00_one.md", ANSWERS.replace("robust: pass", "robust: passed"), ":3: status 'passed' is not one of"),
        ("answers/00_one.md", ANSWERS.replace("/assertion", "/laziness"), ":3: failure kind 'laziness' is not one of"),
        ("answers/00_one.md", ANSWERS.replace("/assertion", ""), ":3: failure kind None is not one of"),
        (
            "answers/00_one.md",
            ANSWERS.replace("pass — good", "pass/assertion — good"),
            ":1: a pass has no failure kind",
        ),
    ],
)
def test_bad_files_are_refused(build: ModuleType, folder: Path, name: str, text: str, message: str) -> None:
    """A file of another form, or a gap in the numbers, is an error of one line that names file and remedy."""
    (folder / name).write_text(text)
    error = refused(build, folder)
    assert Path(name).name in error
    assert message in error


def test_a_task_without_answers_is_refused(build: ModuleType, folder: Path) -> None:
    """A run over the starter set must be complete, so a task without answers is an error."""
    (folder / "answers" / "00_one.md").unlink()
    assert "write at least one answer for 00_one.py" in refused(build, folder)


def test_check_reports_stale_files_and_writes_nothing(
    build: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --check missing or changed files end in exit status 1 and a line each; after a build it is silent."""
    arguments = ["--folder", str(folder)]
    assert build.main([*arguments, "--check"]) == 1
    assert capsys.readouterr().err.count("out of date") == 2
    assert not (folder / "tasks.jsonl").exists()
    assert build.main(arguments) == 0
    assert capsys.readouterr().out == "tasks.jsonl: 1 rows\nanswers.jsonl: 2 rows\n"
    assert build.main([*arguments, "--check"]) == 0
    (folder / "answers.jsonl").write_text("changed")
    assert build.main([*arguments, "--check"]) == 1
    assert "answers.jsonl: out of date" in capsys.readouterr().err
    (folder / "tasks" / "00_one.py").write_text("")
    assert build.main(arguments) == 1
    assert capsys.readouterr().err.count("\n") == 1, "a mistake in a file is one line without a traceback"


@pytest.fixture(scope="session")
def hub_rows(reference_data: Path) -> list[dict]:
    return pl.read_parquet(reference_data / "bigcodebench-v0.1.4.parquet").to_dicts()


@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_the_conventions_are_the_hubs(build: ModuleType, hub_rows: list[dict]) -> None:
    """Cut by this script, the hub's own programs give the hub's own columns, but for four rows that its authors edited."""
    differing = set()
    for row in hub_rows:
        prompt = build.cut(Path(row["task_id"]), f"{row['complete_prompt']}{row['canonical_solution']}\n")
        assert prompt.complete_prompt == row["complete_prompt"]
        assert prompt.canonical_solution == row["canonical_solution"]
        instruct = build.instruct_prompt(json.loads(row["doc_struct"]), row["code_prompt"])
        if (prompt.code_prompt, instruct) != (row["code_prompt"], row["instruct_prompt"]):
            differing.add(row["task_id"])
    assert differing == {"BigCodeBench/37", "BigCodeBench/241", "BigCodeBench/267", "BigCodeBench/363"}


@pytest.mark.real_data
def test_domains_are_those_of_the_benchmark(build: ModuleType, reference_data: Path) -> None:
    """Every library in DOMAINS that the benchmark knows has the benchmark's domain."""
    known = json.loads((reference_data / "lib_domains.json").read_text())
    for domain, libraries in build.DOMAINS.items():
        assert {known.get(library, domain) for library in libraries} == {domain}


@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_no_task_is_taken_from_the_benchmark(hub_rows: list[dict], tasks: list[dict]) -> None:
    """No task shares its description or its solution with a task of the benchmark."""
    solutions = {ast.dump(ast.parse("def f():\n" + row["canonical_solution"])) for row in hub_rows}
    descriptions = {" ".join(json.loads(row["doc_struct"])["description"]) for row in hub_rows}
    for task in tasks:
        assert ast.dump(ast.parse("def f():\n" + task["canonical_solution"])) not in solutions
        assert " ".join(json.loads(task["doc_struct"])["description"]) not in descriptions
