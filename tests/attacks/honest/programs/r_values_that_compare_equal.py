"""Honest: results of other types that compare equal: Counter, OrderedDict, namedtuple, numpy and integral floats."""

from collections import Counter, OrderedDict, namedtuple
from fractions import Fraction

import numpy as np

Summary = namedtuple("Summary", "smallest largest mean")


def task_func(numbers):
    """Return counts, numbers by rank, (smallest, largest, mean), the median, and whether they are sorted."""
    counts = Counter(float(number) for number in numbers)
    ranks = OrderedDict(sorted(enumerate(sorted(numbers)), reverse=True))
    summary = Summary(np.float64(min(numbers)), True * max(numbers), Fraction(sum(numbers), len(numbers)))
    return counts, ranks, summary, np.median(numbers), np.bool_(sorted(numbers) == numbers)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.counts, self.ranks, self.summary, self.median, self.ordered = task_func([2, 1, 2, 1, 4])

    def test_dictionaries(self):
        self.assertEqual(self.counts, {1: 2, 2: 2, 4: 1})
        self.assertDictEqual(dict(self.ranks), {0: 1, 1: 1, 2: 2, 3: 2, 4: 4})

    def test_summary(self):
        self.assertEqual(self.summary, (1, 4, 2))
        self.assertEqual(self.summary[2], 2.0)
        self.assertAlmostEqual(self.summary[0], 1.0)

    def test_median(self):
        self.assertEqual(self.median, 2)
        self.assertTrue(self.median == 2.0)
        self.assertIn(self.median, [2, 3])

    def test_order(self):
        self.assertFalse(self.ordered)
        self.assertEqual(self.ordered, 0)
        self.assertTrue(task_func([1, 2])[4])


# --- reference ---
import statistics


def task_func(numbers):
    """Return counts, numbers by rank, (smallest, largest, mean), the median, and whether they are sorted."""
    counts = {number: numbers.count(number) for number in numbers}
    summary = (min(numbers), max(numbers), sum(numbers) / len(numbers))
    return counts, dict(enumerate(sorted(numbers))), summary, statistics.median(numbers), sorted(numbers) == numbers
