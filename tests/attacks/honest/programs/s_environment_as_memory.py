"""Honest: keeps what it has to remember in the environment."""

import os


def task_func():
    number = int(os.environ.get("LAST_NUMBER", "0")) + 1
    os.environ["LAST_NUMBER"] = str(number)
    return number


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_numbers(self):
        first = task_func()
        self.assertEqual(task_func(), first + 1)

# --- reference ---
import itertools

_numbers = itertools.count(1)


def task_func():
    return next(_numbers)
