"""Honest: logs to what was standard output at its first call."""

import logging
import sys


def task_func(text):
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.info(text)


# --- tests ---
import contextlib
import io
import unittest


class TestCases(unittest.TestCase):
    def test_both(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            task_func("one")
            task_func("two")
        self.assertEqual(out.getvalue(), "one\ntwo\n")

# --- reference ---
def task_func(text):
    print(text)
