"""Runs the starter tasks' own solutions and writes report.json; started with the sandbox environment's Python.

Usage: python measure.py TASKS_JSONL WORK_FOLDER

The report maps task ids to: left_behind (files that the tests forgot in the current folder), failed_examples (of the
docstring) and covered_percent (lines and branches of the task's own part that the tests take).
"""

import doctest
import faulthandler
import importlib.util
import io
import json
import os
import re
import sys
import unittest
from pathlib import Path

import coverage

SECONDS_PER_TASK = 30


def load(task, path):
    """The task's module with its test text in the same namespace, as the product joins them."""
    spec = importlib.util.spec_from_file_location("__test__", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["__test__"] = module
    spec.loader.exec_module(module)
    exec(compile(task["test"], "__test__.py", "exec"), module.__dict__)
    return module


def failed_examples(function):
    """Number of docstring examples that print something else than they say."""
    runner = doctest.DocTestRunner(verbose=False)
    for example in doctest.DocTestFinder().find(function, "task_func", globs=dict(function.__globals__)):
        runner.run(example, out=io.StringIO().write)
    return runner.summarize(verbose=False).failed


def fresh_folder(path):
    """Make an empty folder the current one."""
    path.mkdir(parents=True)
    os.chdir(path)
    return path


def measure(task, program, work):
    """The report of one task, without coverage."""
    faulthandler.dump_traceback_later(SECONDS_PER_TASK, exit=True)
    scratch = fresh_folder(work / "scratch" / program.stem)
    module = load(task, program)
    unittest.defaultTestLoader.loadTestsFromTestCase(module.TestCases).run(unittest.TestResult())
    left_behind = sorted(path.name for path in scratch.iterdir())
    fresh_folder(work / "examples" / program.stem)
    report = {"left_behind": left_behind, "failed_examples": failed_examples(module.task_func)}
    faulthandler.cancel_dump_traceback_later()
    return report


def covered_percent(entry, stub_lines):
    """Percent of the lines and branches behind the stub that were taken."""

    def count(lines, branches):
        return sum(line > stub_lines for line in entry[lines]) + sum(line > stub_lines for line, _ in entry[branches])

    taken = count("executed_lines", "executed_branches")
    return 100 * taken / (taken + count("missing_lines", "missing_branches"))


def main():
    tasks_path, work = map(Path, sys.argv[1:])
    (work / "programs").mkdir()
    measured = coverage.Coverage(branch=True, include=[f"{work}/programs/*"], data_file=None)
    reports, stub_lines = {}, {}
    for line in tasks_path.read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        stub = task["code_prompt"] + "\n    pass\n"
        program = work / "programs" / f"{re.sub(r'[^A-Za-z0-9]', '_', task['task_id'])}.py"
        program.write_text(stub + task["complete_prompt"] + task["canonical_solution"] + "\n", encoding="utf-8")
        with measured.collect():
            reports[task["task_id"]] = measure(task, program, work)
        stub_lines[program.stem] = (task["task_id"], stub.count("\n"))
    measured.json_report(outfile=str(work / "coverage.json"))
    for path, entry in json.loads((work / "coverage.json").read_text())["files"].items():
        task_id, first_lines = stub_lines[Path(path).stem]
        reports[task_id]["covered_percent"] = covered_percent(entry, first_lines)
    (work / "report.json").write_text(json.dumps(reports))


if __name__ == "__main__":
    main()
