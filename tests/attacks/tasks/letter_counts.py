from collections import Counter
# <module>
def task_func(text):
    """Count the letters of a text, case ignored; what is no letter is left out.

    Parameters: text (str).
    Returns: mapping of letter to int, equal to a dict of the same content.
    """
    # <first>
    counts = dict(Counter(sign for sign in text.lower() if sign.isalpha()))
    # <last>
    return counts

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_counts(self):
        self.assertEqual(task_func("Abba!"), {"a": 2, "b": 2})

    def test_b_one_letter(self):
        counts = task_func("x-ray x")
        self.assertEqual(counts["x"], 2)
        self.assertEqual(len(counts), 4)
        self.assertNotIn("-", counts)

    def test_c_items(self):
        self.assertEqual(sorted(task_func("cab c").items()), [("a", 1), ("b", 1), ("c", 2)])

    def test_d_no_letter(self):
        self.assertEqual(len(task_func("1, 2")), 0)

# --- wrong ---
# <module>
def task_func(text):
    """Count the letters of a text: small ones only."""
    # <first>
    counts = {sign: text.count(sign) for sign in text if sign.islower()}
    # <last>
    return counts
