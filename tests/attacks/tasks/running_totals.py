from itertools import accumulate
# <module>
def task_func(numbers):
    """Totals of the numbers up to each one.

    Parameters: numbers (iterable of int).
    Returns: an iterable of int, as long as numbers; it is iterated once.
    """
    # <first>
    totals = list(accumulate(numbers))
    # <last>
    return totals

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_list(self):
        self.assertEqual(list(task_func([1, 2, 3])), [1, 3, 6])

    def test_b_first(self):
        self.assertEqual(next(iter(task_func([5, 1]))), 5)

    def test_c_negative(self):
        totals = task_func((4, -4, 2))
        self.assertEqual(sum(totals), 6)

    def test_d_iterator(self):
        self.assertEqual(list(task_func(iter([2, 2]))), [2, 4])

    def test_e_none(self):
        self.assertEqual(list(task_func([])), [])

# --- wrong ---
# <module>
def task_func(numbers):
    """Totals of the numbers up to each one: without the number itself."""
    # <first>
    totals = [sum(list(numbers)[:place]) for place in range(len(list(numbers)))] + [1]
    # <last>
    return totals
