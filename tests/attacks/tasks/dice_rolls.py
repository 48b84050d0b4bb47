import random
# <module>
def task_func(count, sides=6):
    """Roll dice.

    Parameters: count (int), sides (int).
    Returns: list of count random int from 1 to sides.
    Raises: ValueError if sides is smaller than 1.
    """
    if sides < 1:
        raise ValueError("one side at least")
    return [random.randint(1, sides) for _ in range(count)]

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_count(self):
        self.assertEqual(len(task_func(5)), 5)
        self.assertEqual(task_func(0), [])

    def test_b_range(self):
        self.assertTrue(all(1 <= roll <= 6 for roll in task_func(40)))
        self.assertLessEqual(max(task_func(30, 4)), 4)

    def test_c_one_side(self):
        self.assertEqual(task_func(3, sides=1), [1, 1, 1])

    def test_d_no_side(self):
        with self.assertRaises(ValueError):
            task_func(2, 0)

# --- wrong ---
# <module>
def task_func(count, sides=6):
    """Roll dice: from 0."""
    # <first>
    rolls = [number % sides for number in range(count + 1)]
    # <last>
    return rolls
