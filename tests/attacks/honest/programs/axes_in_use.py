"""Honest: draws into the axes in use, which a test leaves open if it fails before its last line."""

import matplotlib.pyplot as plt

def task_func(count, radius=1):
    plt.scatter([radius * n for n in range(count)], [0] * count)
    plt.gca().set_aspect("equal")
    return plt.gca()
# --- tests ---
import unittest

import matplotlib.pyplot as plt

class TestCases(unittest.TestCase):
    def test_a_few(self):
        axes = task_func(5)
        self.assertEqual(len(axes.collections[0].get_offsets()), 5)
        plt.close()
    def test_many(self):
        axes = task_func(500)
        self.assertEqual(len(axes.collections[0].get_offsets()), 500)
        self.assertEqual(axes.get_aspect(), 1.0)
        plt.close()
    def test_none(self):
        axes = task_func(0)
        self.assertEqual(len(axes.collections[0].get_offsets()), 0)
        plt.close()
    def test_radius(self):
        axes = task_func(3, radius=2)
        self.assertEqual(axes.collections[0].get_offsets()[2][0], 4)
        plt.close()
# --- reference ---
import matplotlib.pyplot as plt

def task_func(count, radius=1):
    _, axes = plt.subplots()
    axes.scatter([radius * n for n in range(count)], [0] * count)
    axes.set_aspect("equal")
    return axes
