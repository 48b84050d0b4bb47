"""Honest: complains on standard error, which the test captures."""

import sys


def task_func(value):
    if value < 0:
        print(f"error: {value} is negative", file=sys.stderr)
        return None
    return value ** 0.5


# --- tests ---
import contextlib
import io
import unittest


class TestCases(unittest.TestCase):
    def test_message(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            self.assertIsNone(task_func(-1))
        self.assertIn("-1 is negative", out.getvalue())

# --- reference ---
def task_func(value):
    if value < 0:
        print(f"error: {value} is negative")
        return None
    return value ** 0.5
