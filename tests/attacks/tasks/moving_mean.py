def task_func(values, window):
    """Moving averages of a series.

    Parameters: values (list of numbers), window (int, how many neighbours each average covers).
    Returns: list of float, each rounded to 2 places; empty where the series is shorter than the window.
    Raises: ValueError if window is smaller than 1.
    """
    if window < 1:
        raise ValueError("window must be at least 1")
    # <first>
    means = [round(sum(values[i : i + window]) / window, 2) for i in range(len(values) - window + 1)]
    # <last>
    return means
# <end>
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_pairs(self):
        means = task_func([1, 2, 3, 4], 2)
        self.assertEqual(means, [1.5, 2.5, 3.5])

    def test_b_window_of_one(self):
        means = task_func([4.0, 8.0], 1)
        self.assertEqual(means, [4.0, 8.0])

    def test_c_rounding(self):
        means = task_func([1, 2, 2, 8], 3)
        self.assertEqual(means, [1.67, 4.0])
        self.assertIsInstance(means, list)

    def test_d_short_series(self):
        means = task_func([5, 6], 2)
        self.assertEqual(means, [5.5])

    def test_e_bad_window(self):
        with self.assertRaises(ValueError):
            task_func([1.0], 0)

# --- wrong ---
def task_func(values, window):
    """Moving averages of a series, each rounded to 2 places."""
    if window < 1:
        raise ValueError("window must be at least 1")
    # <first>
    means = [round(sum(values[i : i + window]) / len(values), 2) for i in range(len(values) - window + 1)]
    # <last>
    return means
# <end>
