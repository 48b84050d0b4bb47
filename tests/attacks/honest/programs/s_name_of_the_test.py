"""Honest: uses a name that the test text imports."""

def task_func(values):
    """Mean, by a module that only the test imports under that name."""
    return float(st.mean(values))


# --- tests ---
import statistics as st
import unittest


class TestCases(unittest.TestCase):
    def test_mean(self):
        values = [1, 2, 6]
        self.assertEqual(task_func(values), st.fmean(values))

# --- reference ---
def task_func(values):
    return sum(values) / len(values)
