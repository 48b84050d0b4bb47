"""Honest: counts of all letters, those that do not occur among them; the test looks at some of them."""

import string


def task_func(text):
    """Return a dictionary of how often letters occur in the text, regardless of case."""
    if not isinstance(text, str):
        raise TypeError("text must be a string")
    return {letter: text.lower().count(letter) for letter in string.ascii_lowercase}


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_keys(self):
        counts = task_func("A cab")
        self.assertIn("a", counts)
        self.assertTrue("c" in counts)
        self.assertTrue({"a", "b", "c"} <= set(counts))

    def test_counts(self):
        counts = task_func("hello")
        self.assertEqual(counts["l"], 2)
        self.assertEqual(sum(counts.values()), 5)

    def test_absent(self):
        self.assertFalse(task_func("xyz").get("a"))
        self.assertNotIn("-", task_func("x-y"))
        self.assertGreaterEqual(len(task_func("xyz")), 3)

    def test_no_text(self):
        with self.assertRaises(TypeError):
            task_func(3)


# --- reference ---
from collections import Counter


def task_func(text):
    """Return a dictionary of how often letters occur in the text, regardless of case."""
    if not isinstance(text, str):
        raise TypeError("text must be a string")
    return Counter(letter for letter in text.lower() if letter.isalpha())
