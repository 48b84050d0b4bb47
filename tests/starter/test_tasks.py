"""What the product promises about the starter set's tasks, measured on the files and in the starter environment."""

import ast
import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from bigcodeflow.core.schemas import HUB_COLUMNS

from .conftest import STARTER

DOMAINS = {"Computation", "General", "Visualization", "System", "Time", "Network", "Cryptography"}


def methods(test: str) -> list[str]:
    classes = [node for node in ast.parse(test).body if isinstance(node, ast.ClassDef) and node.name == "TestCases"]
    return [
        node.name for node in classes[-1].body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]


def test_there_are_forty_tasks_of_all_domains_and_some_are_hard(tasks: list[dict]) -> None:
    """Ids count from Starter/0 without gaps, each domain occurs five times or more, and the hard ones are a minority."""
    assert len(tasks) >= 40
    assert [task["task_id"] for task in tasks] == [f"Starter/{number}" for number in range(len(tasks))]
    counts = Counter(domain for task in tasks for domain in task["domains"])
    assert set(counts) == DOMAINS
    assert min(counts.values()) >= 5
    assert 5 <= sum(task["hard"] for task in tasks) <= len(tasks) // 3


def test_rows_have_the_hubs_columns_as_text(tasks: list[dict]) -> None:
    """Every row carries the hub's nine columns, all of them text that is not empty, plus hard and domains."""
    for task in tasks:
        assert set(task) == {*HUB_COLUMNS, "hard", "domains"}
        assert all(isinstance(task[column], str) and task[column].strip() for column in HUB_COLUMNS), task["task_id"]
        assert isinstance(task["hard"], bool)
        assert task["domains"] == sorted(set(task["domains"]))


def test_each_task_has_five_distinct_tests_and_uses_two_modules(tasks: list[dict]) -> None:
    """No name of a test is used twice, which would hide a test; every task composes modules, as the benchmark's do."""
    for task in tasks:
        names = methods(task["test"])
        assert len(set(names)) == len(names) >= 5, task["task_id"]
        modules = {
            alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            for node in ast.walk(ast.parse(task["code_prompt"] + "    pass"))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert len(modules) >= 2, task["task_id"]


def test_docstrings_are_complete(tasks: list[dict]) -> None:
    """They describe the task, every parameter, the result and each error, show an example, and name the libraries."""
    for task in tasks:
        parts = json.loads(task["doc_struct"])
        assert all(parts[key] for key in ("description", "params", "returns", "reqs", "examples")), task["task_id"]
        assert parts["examples"][0].startswith(">>> "), task["task_id"]
        required = {line.partition(".")[0] for line in parts["reqs"]}
        assert required == set(ast.literal_eval(task["libs"])), task["task_id"]
        function = ast.parse(task["complete_prompt"]).body[-1]
        documented = [line.partition(" ")[0].rstrip(":") for line in parts["params"]]
        assert {argument.arg for argument in function.args.args} <= set(documented), task["task_id"]
        for node in ast.walk(ast.parse(task["complete_prompt"] + task["canonical_solution"])):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                assert ast.unparse(node.exc.func) in " ".join(parts["raises"]), task["task_id"]


@pytest.mark.slow
def test_solutions_are_covered_and_clean_and_examples_hold(starter_environment, tmp_path: Path) -> None:
    """Tests take 99 percent of lines and branches of the task's own solution and leave no file behind."""
    command = [starter_environment.python, "-I", "-W", "error", Path(__file__).with_name("measure.py")]
    home = {"HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path)}
    limits = {"TZ": "UTC", "OMP_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")}
    subprocess.run([*command, STARTER / "tasks.jsonl", tmp_path], env=home | limits, timeout=600, check=True)
    reports = json.loads((tmp_path / "report.json").read_text())
    assert min(report["covered_percent"] for report in reports.values()) >= 99
    untidy = {name: report for name, report in reports.items() if report["failed_examples"] or report["left_behind"]}
    assert untidy == {}


@pytest.mark.parametrize("column", ["complete_prompt", "canonical_solution", "test"])
def test_programs_read_no_absolute_paths(tasks: list[dict], column: str) -> None:
    """Neither prompts nor solutions nor tests depend on a folder of some machine."""
    for task in tasks:
        for folder in ("/home/", "/tmp/", "/usr/", "C:\\"):
            assert folder not in task[column], task["task_id"]
