"""Honest: returns a dict that counts, where the task's own solution returns a Counter."""

from collections import defaultdict


def task_func(text):
    counts = defaultdict(int)
    for word in text.split():
        counts[word] += 1
    return counts


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_counts(self):
        counts = task_func("a b a")
        self.assertEqual(counts["a"], 2)
        self.assertEqual(counts["zzz"], 0)

# --- reference ---
from collections import Counter


def task_func(text):
    return Counter(text.split())
