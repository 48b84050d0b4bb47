"""Honest: returns what is no plain data to a helper that catches everything."""

from fractions import Fraction
from array import array


def task_func(numbers):
    return array("i", sorted(numbers))


# --- tests ---
import unittest


def works(numbers, expected):
    try:
        return list(task_func(numbers)) == expected
    except Exception:
        return False


class TestCases(unittest.TestCase):
    def test_works(self):
        self.assertTrue(works([2, 1], [1, 2]))

# --- reference ---
def task_func(numbers):
    return sorted(numbers)
