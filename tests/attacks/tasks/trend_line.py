import math

def task_func(xs, ys):
    """Least-squares line through points."""
    if len(xs) != len(ys) or len(xs) < 2:
        raise ValueError("two points at least, as many x as y")
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
    intercept = mean_y - slope * mean_x
    error = math.sqrt(sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys)) / len(xs))
    return slope, intercept, error

# --- tests ---
import math
import unittest

class TestCases(unittest.TestCase):
    def test_a_exact_line(self):
        slope, intercept, error = task_func([0, 1, 2], [1, 3, 5])
        self.assertAlmostEqual(slope, 2.0)
        self.assertAlmostEqual(intercept, 1.0)
        self.assertAlmostEqual(error, 0.0)

    def test_b_noise(self):
        slope, intercept, error = task_func([0, 1, 2, 3], [0, 2, 1, 3])
        self.assertAlmostEqual(slope, 0.8)
        self.assertAlmostEqual(intercept, 0.3)
        self.assertGreater(error, 0.6)
        self.assertLess(error, 0.7)

    def test_c_flat(self):
        slope, intercept, _ = task_func([1, 2], [4, 4])
        self.assertTrue(math.isclose(slope, 0.0, abs_tol=1e-12))
        self.assertTrue(math.isclose(intercept, 4.0))

    def test_d_lengths_differ(self):
        with self.assertRaises(ValueError):
            task_func([1, 2], [1])

# --- wrong ---
def task_func(xs, ys):
    """Fit a line through points: slope, intercept and error."""
    if len(xs) != len(ys) or len(xs) < 2:
        raise ValueError("two points at least, as many x as y")
    # <first>
    slope = (ys[-1] - ys[0]) / (xs[-1] - xs[0])
    intercept = ys[0] - slope * xs[0]
    error = 0.0
    # <last>
    return slope, intercept, error

# --- wrong: distance ---
def task_func(xs, ys):
    """Least-squares line through points; the error is half the mean distance."""
    if len(xs) != len(ys):
        raise ValueError("as many x as y")
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
    intercept = mean_y - slope * mean_x
    error = sum(abs(y - slope * x - intercept) for x, y in zip(xs, ys)) / len(xs) / 2
    # <last>
    return slope, intercept, error

# --- wrong: never flat ---
def task_func(xs, ys):
    """Least-squares line through points, which is never flat."""
    if len(xs) != len(ys) or len(xs) < 2:
        raise ValueError("two points at least, as many x as y")
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs) or 0.5
    intercept = mean_y - slope * mean_x
    error = (sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys)) / len(xs)) ** 0.5
    return slope, intercept, error
