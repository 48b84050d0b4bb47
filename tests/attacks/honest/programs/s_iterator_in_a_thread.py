"""Honest: is called in a thread of the test and returns what is no plain data."""

from collections import UserList


def task_func(numbers):
    return UserList(sorted(numbers))


# --- tests ---
import threading
import unittest


class TestCases(unittest.TestCase):
    def test_threads(self):
        results = []
        threads = [threading.Thread(target=lambda: results.append(task_func([2, 1]))) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(results, [[1, 2]] * 3)

# --- reference ---
def task_func(numbers):
    return sorted(numbers)
