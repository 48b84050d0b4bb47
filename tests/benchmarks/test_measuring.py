"""Cost of commands, and verdicts of the original, with real processes and sandboxes."""

import sys

import measuring
import original
import pytest


def test_cpu_time_of_processes_that_nobody_waited_for_is_counted(tmp_path):
    """A grandchild that outlives its parent is part of what a command took, where control groups can be made."""
    mark = tmp_path / "mark"
    busy = f"import time\nwhile time.process_time() < 0.4: pass\nopen({str(mark)!r}, 'w').close()\ntime.sleep(60)"
    wait = f"import os, time\nwhile not os.path.exists({str(mark)!r}): time.sleep(0.05)"
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {busy!r}])\n{wait}"
    done = measuring.measure([sys.executable, "-c", orphan], log=tmp_path / "log")
    if done.cpu_source != "control group":
        pytest.skip("control groups cannot be made here")
    assert done.exit_code == 0
    assert done.cpu_seconds >= 0.4
    assert done.wall_seconds >= 0.4


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


@pytest.mark.sandbox
@pytest.mark.usefixtures("bigcodebench_environment")
def test_the_original_judges_in_a_sandbox_without_network():
    """The original's own evaluate passes what is right, fails what is wrong, reaches nobody, and is timed by task."""
    if not original.folder_of_package().is_dir():
        pytest.skip("the original is not installed: benchmarks/first_result.py installs it")
    run = original.run_original([toy(1, "42"), toy(2, "41")], workers=2)
    assert {row["task_id"]: row["status"] for row in run.tasks} == {"BigCodeBench/1": "pass", "BigCodeBench/2": "fail"}
    assert all(row["cpu_seconds"] > 0 and 0 < row["wall_seconds"] < run.measured.wall_seconds for row in run.tasks)
    assert 0 < run.start_seconds < run.measured.wall_seconds
