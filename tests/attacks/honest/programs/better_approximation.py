"""Honest: nearer to the true value, and a better score, than the reference; the test leaves room for both."""

import math

import numpy as np

def task_func(terms):
    """Return an estimate of pi from a series of that many terms, and its accuracy between 0 and 1."""
    total = sum(2 * (-1) ** k * 3 ** (0.5 - k) / (2 * k + 1) for k in range(terms))
    return np.float64(total), 1 - abs(total - math.pi) / math.pi
# --- tests ---
import math
import unittest

import numpy as np

class TestCases(unittest.TestCase):
    def test_value(self):
        self.assertAlmostEqual(task_func(10)[0], 3.1, delta=0.15)
        self.assertAlmostEqual(task_func(400)[0], math.pi, places=2)
        self.assertLess(abs(task_func(10)[0] - math.pi), 0.11)
    def test_accuracy(self):
        self.assertGreater(task_func(6)[1], 0.94)
        self.assertTrue(0.9 <= task_func(4)[1] <= 1.0)
    def test_arrays(self):
        np.testing.assert_allclose([task_func(8)[0], task_func(9)[0]], [3.1, 3.2], rtol=0.05)
# --- reference ---
import math

def task_func(terms):
    total = 4 * sum((-1) ** k / (2 * k + 1) for k in range(terms))
    return total, 1 - abs(total - math.pi) / math.pi
