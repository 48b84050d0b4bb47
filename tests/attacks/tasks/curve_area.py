# <module>
def task_func(coefficients, low, high):
    """Estimate the area under a polynomial, with an error of 1 % at most.

    Parameters: coefficients (list of numbers from 0, that of x**0 first), low, high (numbers from 0).
    Returns: a number.
    Raises: ValueError if high is smaller than low.
    """
    if high < low:
        raise ValueError("high is smaller than low")
    # <first>
    area = sum(c * (high ** (n + 1) - low ** (n + 1)) / (n + 1) for n, c in enumerate(coefficients))
    # <last>
    return area

# --- tests ---
import math
import unittest

class TestCases(unittest.TestCase):
    def test_a_parabola(self):
        self.assertAlmostEqual(task_func([0, 0, 3], 0, 2), 8, delta=0.08)

    def test_b_constant(self):
        self.assertTrue(math.isclose(task_func([1], 0, 5), 5, rel_tol=0.01))

    def test_c_line(self):
        self.assertLess(abs(task_func([1, 2], 1, 4) - 18), 0.18)

    def test_d_cubic(self):
        self.assertAlmostEqual(task_func([5, 0, 1, 4], 0, 3) / 105, 1, delta=0.01)

    def test_e_wrong_way(self):
        with self.assertRaises(ValueError):
            task_func([1], 3, 2)

# --- wrong ---
# <module>
def task_func(coefficients, low, high):
    """Estimate the area under a polynomial: by one rectangle."""
    # <first>
    area = sum(c * low**n for n, c in enumerate(coefficients)) * abs(high - low)
    # <last>
    return area
