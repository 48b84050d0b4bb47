import matplotlib.pyplot as plt
import pandas as pd


def task_func(records):
    """
    Draw the shares of categories a year as stacked bars. Amounts are summed by year and category and scaled so that
    each year sums to 100 percent; years whose sum is zero are left out.

    Parameters:
    - records (list of dict): Records with the keys 'year' (int), 'category' (str) and 'amount' (float, not negative).

    Returns:
    - tuple: The matplotlib Axes and the DataFrame that is drawn: years as sorted index, categories as sorted columns,
      percentages rounded to 2 digits. The y label is 'Share in percent' and the legend lists the categories.

    Raises:
    - ValueError: If records is empty or an amount is negative.

    Requirements:
    - matplotlib
    - pandas

    Example:
    >>> axes, shares = task_func([{"year": 2020, "category": "a", "amount": 1}, {"year": 2020, "category": "b", "amount": 3}])
    >>> shares.loc[2020].tolist()
    [25.0, 75.0]
    """
    frame = pd.DataFrame(records)
    if frame.empty or (frame["amount"] < 0).any():
        raise ValueError("records must exist and amounts must not be negative")
    sums = frame.pivot_table(index="year", columns="category", values="amount", aggfunc="sum", fill_value=0)
    sums = sums[sums.sum(axis=1) > 0]
    shares = (100 * sums.div(sums.sum(axis=1), axis=0)).round(2)
    _, axes = plt.subplots()
    bottom = pd.Series(0.0, index=shares.index)
    for category in shares.columns:
        axes.bar(shares.index, shares[category], bottom=bottom, label=category)
        bottom = bottom + shares[category]
    axes.set_ylabel("Share in percent")
    axes.legend()
    return axes, shares


# --- tests ---
import unittest

import matplotlib.pyplot as plt


def records(*rows):
    return [dict(zip(("year", "category", "amount"), row)) for row in rows]


class TestCases(unittest.TestCase):
    def tearDown(self):
        plt.close("all")

    def test_shares(self):
        _, shares = task_func(records((2020, "a", 1), (2020, "b", 3)))
        self.assertEqual(shares.loc[2020].tolist(), [25.0, 75.0])

    def test_same_category_is_summed(self):
        _, shares = task_func(records((2021, "x", 2), (2021, "x", 2), (2021, "y", 8)))
        self.assertAlmostEqual(shares.loc[2021, "x"], 33.33)

    def test_absent_category_is_zero(self):
        _, shares = task_func(records((2022, "b", 5), (2021, "a", 5)))
        self.assertEqual(list(shares.index), [2021, 2022])
        self.assertEqual(shares.loc[2021].tolist(), [100.0, 0.0])

    def test_bars_are_stacked(self):
        axes, _ = task_func(records((2020, "a", 1), (2020, "b", 3)))
        self.assertEqual([(bar.get_y(), bar.get_height()) for bar in axes.patches], [(0.0, 25.0), (25.0, 75.0)])

    def test_labels(self):
        axes, _ = task_func(records((2020, "b", 1), (2020, "a", 3)))
        self.assertEqual(axes.get_ylabel(), "Share in percent")
        self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()], ["a", "b"])

    def test_empty_years_are_left_out(self):
        _, shares = task_func(records((2020, "a", 0), (2021, "a", 4)))
        self.assertEqual(list(shares.index), [2021])

    def test_bad_records(self):
        for bad in ([], records((2020, "a", -1))):
            with self.assertRaises(ValueError):
                task_func(bad)
