import re
from collections import Counter

import matplotlib.pyplot as plt


def task_func(text, top=5, ignored=("the", "a", "of", "and")):
    """
    Draw a bar chart of the most frequent words of a text. Words are runs of letters, compared in lower case. Words of
    equal frequency are ordered alphabetically.

    Parameters:
    - text (str): The text to count.
    - top (int): Greatest number of bars. Default is 5.
    - ignored (tuple of str): Lower-case words that are not counted. Default is ('the', 'a', 'of', 'and').

    Returns:
    - tuple: The matplotlib Axes and the list of (word, count) pairs drawn, most frequent first. The axes carry the
      title 'Most frequent words', the y label 'Occurrences', one bar a pair from left to right, and the words as
      tick labels.

    Raises:
    - ValueError: If no word is left to draw.

    Requirements:
    - re
    - collections
    - matplotlib

    Example:
    >>> axes, pairs = task_func("the cat and the other cat")
    >>> pairs
    [('cat', 2), ('other', 1)]
    """
    counts = Counter(word for word in re.findall(r"[^\W\d_]+", text.lower()) if word not in ignored)
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    if not pairs:
        raise ValueError("no words to draw")
    _, axes = plt.subplots()
    axes.bar([word for word, _ in pairs], [count for _, count in pairs])
    axes.set_title("Most frequent words")
    axes.set_ylabel("Occurrences")
    return axes, pairs


# --- tests ---
import unittest

import matplotlib.pyplot as plt


class TestCases(unittest.TestCase):
    def tearDown(self):
        plt.close("all")

    def test_counts_and_order(self):
        _, pairs = task_func("pear fig Fig apple, pear! FIG")
        self.assertEqual(pairs, [("fig", 3), ("pear", 2), ("apple", 1)])

    def test_bars_have_the_heights(self):
        axes, pairs = task_func("b b c c c d")
        self.assertEqual([bar.get_height() for bar in axes.patches], [count for _, count in pairs])

    def test_labels(self):
        axes, _ = task_func("one two two")
        self.assertEqual(axes.get_title(), "Most frequent words")
        self.assertEqual(axes.get_ylabel(), "Occurrences")
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ["two", "one"])

    def test_top_limits_and_ties_are_alphabetical(self):
        _, pairs = task_func("d c b a z", top=3, ignored=())
        self.assertEqual(pairs, [("a", 1), ("b", 1), ("c", 1)])

    def test_ignored_words(self):
        _, pairs = task_func("The end of the road", ignored=("the", "of"))
        self.assertEqual(pairs, [("end", 1), ("road", 1)])

    def test_nothing_left(self):
        with self.assertRaises(ValueError):
            task_func("the 42 of a")
