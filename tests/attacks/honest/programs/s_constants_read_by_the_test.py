"""Honest: defines constants that the test reads."""

import random

COLORS = ["crimson", "teal", "amber"]


def task_func(count):
    """Random colours among COLORS, which the program defines."""
    return [random.choice(COLORS) for _ in range(count)]


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_colors(self):
        found = task_func(5)
        self.assertEqual(len(found), 5)
        for color in found:
            self.assertIn(color, COLORS)

# --- reference ---
import random

COLORS = ["red", "green", "blue"]


def task_func(count):
    return random.choices(COLORS, k=count)
