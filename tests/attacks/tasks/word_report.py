import re
from collections import Counter
# <module>
def task_func(text):
    """Count the words of a text, case ignored."""
    found = re.findall(r"[a-z]+", text.lower())
    if not found:
        raise ValueError("the text holds no word")
    counts = dict(Counter(found))
    longest = max(sorted(counts), key=len)
    words = list(counts)
    # <last>
    return {"counts": counts, "longest": longest, "words": words}

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_counts(self):
        report = task_func("The cat and the dog")
        self.assertIsInstance(report, dict)
        self.assertEqual(report["counts"], {"the": 2, "cat": 1, "and": 1, "dog": 1})

    def test_b_longest(self):
        self.assertTrue(task_func("a bbb ccc")["longest"] == "bbb")

    def test_c_words(self):
        self.assertCountEqual(task_func("x Y x y")["words"], ["x", "y"])

    def test_d_members(self):
        report = task_func("Zoo and zoo")
        self.assertIn("zoo", report["counts"])
        self.assertTrue(all(word == word.lower() for word in report["words"]))

    def test_e_no_words(self):
        with self.assertRaises(ValueError):
            task_func("123 !!!")

# --- wrong ---
import re
from collections import Counter
# <module>
def task_func(text):
    """Count the words of a text; the longest is the last of the text."""
    found = re.findall(r"[a-z]+", text.lower())
    if not found:
        raise ValueError("the text holds no word")
    counts, longest = dict(Counter(found)), found[-1]
    words = list(counts)
    # <last>
    return {"counts": counts, "longest": longest, "words": words}

# --- wrong: capitals ---
import re
from collections import Counter
# <module>
def task_func(text):
    """Count the words of a text; one is shown in capitals."""
    found = re.findall("[a-z]+", text.lower())
    if not found:
        raise ValueError("the text holds no word")
    counts = dict(Counter(found))
    words = [word.upper() if word == "and" else word for word in counts]
    return {"counts": counts, "longest": max(sorted(counts), key=len), "words": words}
