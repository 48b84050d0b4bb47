"""Honest: children of several kinds: a forked one that ends by an exception, an interpreter that runs tests, a daemon."""

import multiprocessing
import os
import subprocess
import sys
import traceback

_TESTS = """
import sys, unittest
expression = sys.argv.pop()
class TestCases(unittest.TestCase):
    def test_value(self):
        self.assertEqual(eval(expression), 4)
unittest.main(verbosity=2)
"""


def in_fork(function):
    """Return the status that a forked child ends with: 0, or 1 if the function raises."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _square(number, answers):
    answers.send(number * number)
    sys.exit(number)


def in_process(number):
    """Return the number's square, computed by a process that ends with the number as its status."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_square, args=(number, theirs))
    process.start()
    process.join()
    return ours.recv(), process.exitcode


def task_func(expression):
    """Return whether a test in an interpreter of its own finds the expression to be 4, and what it says."""
    done = subprocess.run([sys.executable, "-c", _TESTS, expression], capture_output=True, text=True)
    subprocess.Popen(["sleep", "30"], start_new_session=True)
    return done.returncode == 0, done.stderr.strip().splitlines()[-1]


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_right(self):
        self.assertEqual(task_func("2 + 2"), (True, "OK"))

    def test_wrong(self):
        found, text = task_func("2 + 3")
        self.assertFalse(found)
        self.assertEqual(text, "FAILED (failures=1)")

    def test_fork(self):
        self.assertEqual(in_fork(lambda: None), 0)
        self.assertEqual(in_fork(lambda: self.assertEqual(1, 2)), 1)
        self.assertEqual(in_fork(lambda: sys.exit(3)), 1)

    def test_process(self):
        self.assertEqual(in_process(3), (9, 3))
