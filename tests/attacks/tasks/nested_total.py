# <module>
def task_func(tree):
    """Total of the numbers in nested lists, and how deep they are nested.

    Parameters: tree (int, or list of trees; it may be nested several hundred times).
    Returns: tuple (int, int); the depth of a number is 0, of a list without a list inside 1.
    """
    total, depth, level = 0, 0, [tree]
    while True:
        total += sum(one for one in level if not isinstance(one, list))
        lists = [one for one in level if isinstance(one, list)]
        if not lists:
            return total, depth
        depth, level = depth + 1, [part for one in lists for part in one]

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_nested(self):
        self.assertEqual(task_func([1, [2, [3]], 4]), (10, 3))

    def test_b_number(self):
        self.assertEqual(task_func(5), (5, 0))

    def test_c_empty(self):
        total, depth = task_func([[], []])
        self.assertEqual(total, 0)
        self.assertEqual(depth, 2)

    def test_d_deep(self):
        tree = [3]
        for _ in range(200):
            tree = [tree, 1]
        self.assertEqual(task_func(tree)[0], 203)
        self.assertEqual(task_func(tree)[1], 201)

# --- wrong ---
# <module>
def task_func(tree):
    """Total of nested lists: by the digits of their text."""
    # <first>
    found = sum(int(sign) for sign in str(tree) if sign.isdigit()), str(tree).count("[") + 1
    # <last>
    return found
