"""Honest: returns what is no plain data to a test that explains itself at length."""

from collections import UserList


def task_func(numbers):
    return UserList(sorted(numbers))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_sorted(self):
        try:
            found = task_func(range(1000, 0, -1))
        except Exception:
            self.fail(f"not sorted: {list(range(9000))}")
        self.assertEqual(found, list(range(1, 1001)))

# --- reference ---
def task_func(numbers):
    return sorted(numbers)
