"""Honest: recurses as deep as the test allows it to."""

def task_func(number):
    return 0 if number == 0 else number + task_func(number - 1)


# --- tests ---
import sys
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(20000)

    def tearDown(self):
        sys.setrecursionlimit(self.limit)

    def test_sum(self):
        self.assertEqual(task_func(5000), 12502500)

# --- reference ---
def task_func(number):
    return number * (number + 1) // 2
