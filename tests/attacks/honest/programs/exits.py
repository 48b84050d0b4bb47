"""Honest: sys.exit where the task asks for it, expected or patched by the test, as is sys.argv."""

import argparse
import sys

def task_func(arguments=None):
    parser = argparse.ArgumentParser(prog="tool", exit_on_error=True)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("number", type=int)
    arguments = parser.parse_args(arguments)
    if arguments.version:
        raise SystemExit(0)
    if arguments.number < 0:
        sys.exit("negative")
    return arguments.number
# --- tests ---
import io
import unittest
from unittest.mock import patch

class TestCases(unittest.TestCase):
    def test_expected(self):
        with self.assertRaises(SystemExit) as caught:
            task_func([])
        self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(SystemExit):
            task_func(["--version", "1"])
        self.assertEqual(task_func(["5"]), 5)
    @patch("sys.argv", ["tool", "7"])
    def test_number(self):
        self.assertEqual(task_func(), 7)
    @patch("sys.exit")
    @patch("sys.argv", ["tool", "--", "-1"])
    def test_negative(self, leave):
        task_func()
        leave.assert_called_once_with("negative")
    @patch("sys.argv", ["tool", "x"])
    @patch("sys.stderr", new_callable=io.StringIO)
    def test_no_number(self, errors):
        with self.assertRaises(SystemExit):
            task_func()
        self.assertIn("invalid int value", errors.getvalue())
