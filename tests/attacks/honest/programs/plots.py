"""Honest: a plot with more bins, lines and axes than the reference draws, and another backend setting."""

import matplotlib

matplotlib.use("Agg", force=True)
import matplotlib.pyplot as plt
import numpy as np

plt.style.use("ggplot")
plt.rcParams.update({"figure.max_open_warning": 0, "axes.grid": True})

def task_func(values):
    """Draw a histogram of the values with a line at the mean, titled Histogram; return the axes."""
    if not len(values):
        raise ValueError("no values")
    figure, (axes, below) = plt.subplots(2, 1, sharex=True)
    axes.hist(values, bins=25, edgecolor="white")
    for place, colour in ((np.mean(values), "red"), (np.median(values), "blue")):
        axes.axvline(place, color=colour, label=f"{place:.1f}")
    below.boxplot(values, orientation="horizontal")
    axes.set(title="Histogram", xlabel="Value (all)", ylabel="Count of values")
    axes.legend()
    plt.show()
    return axes
# --- tests ---
import unittest

import matplotlib.pyplot as plt

class TestCases(unittest.TestCase):
    def tearDown(self):
        plt.close("all")
    def test_axes(self):
        axes = task_func([1, 2, 6])
        self.assertEqual(axes.get_title(), "Histogram")
        self.assertIn("Value", axes.get_xlabel())
        self.assertIn(3.0, [line.get_xdata()[0] for line in axes.lines])
    def test_bars(self):
        axes = task_func([1, 2, 2, 3])
        self.assertGreaterEqual(len(axes.patches), 5)
        self.assertEqual(sum(bar.get_height() for bar in axes.patches), 4)
        self.assertIs(axes.figure, plt.gcf())
        self.assertLessEqual(len(plt.gcf().axes), 4)
# --- reference ---
import matplotlib.pyplot as plt

def task_func(values):
    _, axes = plt.subplots()
    axes.hist(values, bins=5)
    axes.axvline(sum(values) / len(values))
    axes.set_title("Histogram")
    axes.set_xlabel("Value")
    return axes
