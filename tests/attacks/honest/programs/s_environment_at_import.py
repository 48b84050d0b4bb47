"""Honest: sets an environment variable when it is imported."""

import os

os.environ.setdefault("GREETING", "hello")


def task_func(name):
    return f"{os.environ['GREETING']} {name}"


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_greets(self):
        self.assertEqual(task_func("Ann"), "hello Ann")

# --- reference ---
import os


def task_func(name):
    return f"{os.environ.get('GREETING', 'hello')} {name}"
