"""Honest: raises several errors at once."""

def task_func(values):
    errors = [ValueError(f"{value} is negative") for value in values if value < 0]
    if errors:
        raise ExceptionGroup("invalid values", errors)
    return sum(values)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(task_func([1, 2]), 3)

    def test_negative(self):
        with self.assertRaisesRegex(Exception, "invalid values"):
            task_func([-1, -2])

# --- reference ---
def task_func(values):
    if min(values) < 0:
        raise ValueError("invalid values")
    return sum(values)
