"""What is planned, executed and measured, with real processes, sandboxes and the original itself."""

import sys
from collections import Counter

import original
import pytest
import sandbox
import sandbox_meter
import sandbox_pass

from bigcodeflow.execution.evaluation import Planned
from bigcodeflow.execution.items import WorkItem


def plan_of(number, program="x = 1"):
    item = WorkItem(f"key-{program}", program, "", (), 1.0, frozenset())
    return Planned(f"T/{number}", 0, "calibrated", "none", item)


def test_cpu_time_of_processes_that_nobody_waited_for_is_counted(tmp_path):
    """A grandchild that outlives its parent is part of what a command took, where control groups can be made."""
    mark = tmp_path / "mark"
    busy = f"import time\nwhile time.process_time() < 0.4: pass\nopen({str(mark)!r}, 'w').close()\ntime.sleep(60)"
    wait = f"import os, time\nwhile not os.path.exists({str(mark)!r}): time.sleep(0.05)"
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {busy!r}])\n{wait}"
    done = sandbox_meter.measure([sys.executable, "-c", orphan], log=tmp_path / "log")
    if done.cpu_source != "control group":
        pytest.skip("control groups cannot be made here")
    assert done.exit_code == 0
    assert done.cpu_seconds >= 0.4
    assert done.wall_seconds >= 0.4


@pytest.mark.slow
def test_memory_is_that_of_the_whole_tree(tmp_path):
    """What a child holds counts; shared pages count once."""
    holder = "import time; held = bytearray(200 << 20); time.sleep(2.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holder!r}])"
    done = sandbox_meter.measure([sys.executable, "-c", parent], log=tmp_path / "log", with_memory=True)
    assert 200 <= done.peak_memory_mib < 400


def test_a_command_that_does_not_end_is_killed_and_its_output_is_in_its_log(tmp_path):
    """The time limit ends the command, as its exit code says; nothing that is measured prints into the report."""
    done = sandbox_meter.measure(["sleep", "600"], log=tmp_path / "log", timeout_seconds=0.3)
    assert done.exit_code < 0
    done = sandbox_meter.measure(["sh", "-c", "echo out; echo err >&2; exit 3"], log=tmp_path / "log")
    assert done.exit_code == 3
    assert (tmp_path / "log").read_text() == "out\nerr\n"


@pytest.mark.parametrize(("executions", "most"), [(3, 1), (10, 1), (25, 3)])
def test_repeating_spreads_or_cycles(executions, most):
    """Fewer executions than tasks take tasks at even distances; more take all tasks about equally often."""
    plans = [plan_of(number, f"x = {number}") for number in range(10)]
    got = sandbox_pass.repeated(plans, executions)
    counts = Counter(plan.task_id for plan, _ in got)
    assert len(got) == executions
    assert max(counts.values()) == most
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({(plan.task_id, sample) for plan, sample in got}) == executions


def test_repeated_programs_become_distinct_and_stay_the_same_program():
    """Each execution has a key of its own, by a comment; the first of each is untouched."""
    got = list(sandbox_pass.distinct_executions([(plan_of(1), 0), (plan_of(2), 0), (plan_of(1), 1)]))
    assert len({one.item.verdict_key for one in got}) == len({one.item.program for one in got}) == 3
    assert got[0].item.program == "x = 1"
    codes = {compile(program, "p", "exec").co_code for program in ("x = 1", *(one.item.program for one in got))}
    assert len(codes) == 1


TEST = """
import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
    def test_no_network(self):
        import socket
        with self.assertRaises(OSError):
            socket.create_connection(("192.0.2.1", 80), timeout=3)
"""


def toy(number, body):
    prompt = "def task_func():\n"
    names = ("complete_prompt", "code_prompt", "instruct_prompt")
    task = dict.fromkeys(names, prompt) | {"task_id": f"BigCodeBench/{number}", "entry_point": "task_func"}
    return task | {"canonical_solution": f"    return {body}\n", "test": TEST}


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.usefixtures("bigcodebench_environment")
def test_a_pass_in_slices_executes_all_of_it_once():
    """Slices bound what is held at a time; every execution has its row, in order, and each task its part."""
    blank = {"position": 0, "hard": False, "doc_struct": "", "libs": [], "domains": []}
    tasks = [toy(number, "42") | blank | {"expected_tests": ["test_answer", "test_no_network"]} for number in (1, 2)]
    rows = sandbox.run_ours(tasks, sandbox.Job(1, executions=7, slice_size=3), with_memory=False)["rows"]
    assert [row["task_id"] for row in rows] == [f"BigCodeBench/{1 + number % 2}" for number in range(7)]
    assert [row["sample"] for row in rows] == [0, 0, 1, 1, 2, 2, 3]
    assert {row["status"] for row in rows} == {"pass"}


@pytest.mark.sandbox
@pytest.mark.usefixtures("bigcodebench_environment")
def test_the_original_judges_in_a_sandbox_without_network():
    """The original's own evaluate passes what is right, fails what is wrong, reaches nobody, and is timed by task."""
    if not original.folder_of_package().is_dir():
        pytest.skip("the original is not installed: benchmarks/original.py installs it")
    run = original.run_original([toy(1, "42"), toy(2, "41")], workers=2)
    assert {row["task_id"]: row["status"] for row in run.tasks} == {"BigCodeBench/1": "pass", "BigCodeBench/2": "fail"}
    assert all(row["cpu_seconds"] > 0 and 0 < row["wall_seconds"] < run.measured.wall_seconds for row in run.tasks)
    assert 0 < run.start_seconds < run.measured.wall_seconds
