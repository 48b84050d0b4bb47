import statistics
# <module>
def task_func(numbers):
    """Summary of a series.

    Parameters: numbers (list of numbers, one at least; not changed).
    Returns: dict with 'mean', 'spread' (standard deviation of the population), 'middle' (median) and 'ranks' (list of int:
    the place of each number, 1 for the least, the same for equal ones).
    """
    order = sorted(numbers)
    summary = {
        "mean": statistics.mean(numbers),
        "spread": statistics.pstdev(numbers),
        "middle": statistics.median(numbers),
        "ranks": [order.index(number) + 1 for number in numbers],
    }
    # <last>
    return summary

# --- tests ---
import statistics
import unittest

import numpy as np

NUMBERS = [4, 8, 15, 16, 23, 42]

def ranked(numbers):
    order = sorted(numbers)
    return [order.index(number) + 1 for number in numbers]

class TestCases(unittest.TestCase):
    def setUp(self):
        self.numbers = list(NUMBERS)

    def test_a_mean(self):
        summary = task_func(self.numbers)
        self.assertEqual(summary["mean"], statistics.mean(self.numbers))

    def test_b_spread(self):
        summary = task_func(self.numbers)
        self.assertAlmostEqual(summary["spread"], np.std(self.numbers))

    def test_c_middle(self):
        self.assertEqual(task_func(NUMBERS)["middle"], np.median(NUMBERS))

    def test_d_ranks(self):
        self.assertEqual(task_func([7, 1, 2])["ranks"], ranked([7, 1, 2]))

# --- wrong ---
import statistics
# <module>
def task_func(numbers):
    """Summary of a series; the ranks run the wrong way."""
    order = sorted(numbers, reverse=True)
    ranks = [order.index(number) + 1 for number in numbers]
    # <last>
    return {
        "mean": statistics.mean(numbers),
        "spread": statistics.pstdev(numbers),
        "middle": statistics.median(numbers),
        "ranks": ranks,
    }
