"""Runs starter tasks the way the product does and writes report.json; started with the sandbox environment's Python.

Usage: python measure.py TASKS_JSONL WORK_FOLDER {canonical,empty}

The report maps task ids to: tests (number run), bad (names of tests that did not pass), seconds (wall time), left_behind
(files that the tests forgot in the current folder) and, for canonical, failed_examples (of the docstring) and
covered_percent (lines and branches of the task's own part).
"""

import doctest
import faulthandler
import importlib.util
import io
import json
import os
import re
import sys
import time
import unittest
from pathlib import Path

SECONDS_PER_TASK = 30


def load(task, path):
    """The task's module with its test text in the same namespace, as the product joins them."""
    spec = importlib.util.spec_from_file_location("__test__", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["__test__"] = module
    spec.loader.exec_module(module)
    exec(compile(task["test"], "__test__.py", "exec"), module.__dict__)
    return module


def run_tests(module):
    """What unittest says of the module's TestCases."""
    started = time.process_time()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(module.TestCases)
    result = unittest.TestResult()
    suite.run(result)
    bad = {str(test).split()[0] for test, _ in result.failures + result.errors + result.skipped}
    return {"tests": result.testsRun, "bad": sorted(bad), "seconds": time.process_time() - started}


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


def measure(task, mode, work):
    """The report of one task, without coverage."""
    name = re.sub(r"\W", "_", task["task_id"])
    stub = task["code_prompt"] + "\n    pass\n"
    whole = stub + task["complete_prompt"] + task["canonical_solution"] + "\n"
    program = work / "programs" / f"{name}.py"
    program.write_text(whole if mode == "canonical" else stub, encoding="utf-8")
    faulthandler.dump_traceback_later(SECONDS_PER_TASK, exit=True)
    scratch = fresh_folder(work / "scratch" / name)
    module = load(task, program)
    report = run_tests(module)
    report["left_behind"] = sorted(path.name for path in scratch.iterdir())
    if mode == "canonical":
        fresh_folder(work / "examples" / name)
        report["failed_examples"] = failed_examples(module.task_func)
    faulthandler.cancel_dump_traceback_later()
    return report


def covered_percent(entry, stub_lines):
    """Percent of the lines and branches behind the stub that were taken."""

    def count(lines, branches):
        return sum(line > stub_lines for line in entry[lines]) + sum(line > stub_lines for line, _ in entry[branches])

    taken = count("executed_lines", "executed_branches")
    return 100 * taken / (taken + count("missing_lines", "missing_branches"))


def add_coverage(measured, tasks, reports, work):
    measured.json_report(outfile=str(work / "coverage.json"))
    entries = json.loads((work / "coverage.json").read_text())["files"]
    by_name = {Path(path).stem: entry for path, entry in entries.items()}
    for task in tasks:
        stub_lines = (task["code_prompt"] + "\n    pass\n").count("\n")
        entry = by_name[re.sub(r"\W", "_", task["task_id"])]
        reports[task["task_id"]]["covered_percent"] = covered_percent(entry, stub_lines)


def main():
    tasks_path, work, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    tasks = [json.loads(line) for line in tasks_path.read_text(encoding="utf-8").splitlines()]
    (work / "programs").mkdir()
    if mode != "canonical":
        reports = {task["task_id"]: measure(task, mode, work) for task in tasks}
    else:
        import coverage

        measured = coverage.Coverage(branch=True, include=[f"{work}/programs/*"], data_file=None)
        with measured.collect():
            reports = {task["task_id"]: measure(task, mode, work) for task in tasks}
        add_coverage(measured, tasks, reports, work)
    (work / "report.json").write_text(json.dumps(reports))


if __name__ == "__main__":
    main()
