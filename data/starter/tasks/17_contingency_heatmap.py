import itertools

import matplotlib.pyplot as plt
import numpy as np


def task_func(first, second):
    """
    Draw a contingency table of two equally long lists of labels as an annotated heat map. Rows are the sorted labels
    of the first list, columns those of the second; a cell counts the positions that carry both labels.

    Parameters:
    - first (list of str): Labels of the rows.
    - second (list of str): Labels of the columns.

    Returns:
    - tuple: The matplotlib Axes, on which the table is shown with imshow and every cell carries its count as text in
      row order, and the table as a numpy integer array.

    Raises:
    - ValueError: If the lists are empty or differ in length.

    Requirements:
    - itertools
    - matplotlib
    - numpy

    Example:
    >>> axes, table = task_func(["x", "x", "y"], ["p", "q", "q"])
    >>> table.tolist()
    [[1, 1], [0, 1]]
    """
    if not first or len(first) != len(second):
        raise ValueError("two lists of equal length are needed")
    rows, row_codes = np.unique(first, return_inverse=True)
    columns, column_codes = np.unique(second, return_inverse=True)
    table = np.zeros((len(rows), len(columns)), dtype=int)
    np.add.at(table, (row_codes, column_codes), 1)
    _, axes = plt.subplots()
    axes.imshow(table)
    axes.set_xticks(range(len(columns)), labels=columns)
    axes.set_yticks(range(len(rows)), labels=rows)
    for row, column in itertools.product(range(len(rows)), range(len(columns))):
        axes.text(column, row, str(table[row, column]), ha="center", va="center")
    return axes, table


# --- tests ---
import unittest

import matplotlib.pyplot as plt


class TestCases(unittest.TestCase):
    def tearDown(self):
        plt.close("all")

    def test_counts(self):
        self.assertEqual(task_func(["x", "x", "y"], ["p", "q", "q"])[1].tolist(), [[1, 1], [0, 1]])

    def test_total(self):
        self.assertEqual(task_func(list("aabbab"), list("010101"))[1].sum(), 6)

    def test_tick_labels_are_sorted(self):
        axes, _ = task_func(["b", "a"], ["z", "y"])
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["a", "b"])
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ["y", "z"])

    def test_cells_carry_counts(self):
        axes, _ = task_func(["x", "x", "y"], ["p", "q", "q"])
        self.assertEqual([text.get_text() for text in axes.texts], ["1", "1", "0", "1"])
        self.assertEqual([text.get_position() for text in axes.texts], [(0, 0), (1, 0), (0, 1), (1, 1)])

    def test_image_shows_the_table(self):
        axes, table = task_func(["x", "y", "y"], ["p", "p", "p"])
        self.assertEqual(axes.images[0].get_array().tolist(), table.tolist())

    def test_bad_lists(self):
        for first, second in (([], []), (["a"], ["b", "c"])):
            with self.assertRaises(ValueError):
                task_func(first, second)
