# <module>
def task_func(text):
    """Tell if each bracket of a text, round, square or curly, is closed by its partner in the right order.

    Parameters: text (str; other characters are skipped).
    Returns: a truth value.
    """
    partners, still_open = {")": "(", "]": "[", "}": "{"}, []
    for sign in text:
        if sign in "([{":
            still_open.append(sign)
        elif sign in partners and (not still_open or still_open.pop() != partners[sign]):
            return False
    return not still_open

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_nested(self):
        self.assertTrue(task_func("f(a[1], {2: (3)})"))

    def test_b_crossed(self):
        self.assertFalse(task_func("([)]"))

    def test_c_left_open(self):
        self.assertFalse(task_func("((x)"))
        self.assertEqual(bool(task_func("x)")), False)

    def test_d_none(self):
        self.assertTrue(bool(task_func("")))

# --- wrong ---
# <module>
def task_func(text):
    """Tell if the brackets of a text are balanced: they are counted only."""
    # <first>
    balanced = all(text.count(left) >= text.count(right) for left, right in ("()", "[]", "{}"))
    # <last>
    return balanced
