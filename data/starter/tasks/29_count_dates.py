from collections import Counter
from datetime import datetime

from dateutil import parser


def task_func(texts, day_first=False):
    """
    Count dates that were written in many formats by month. Each text is read with dateutil's parser; parts that a
    text lacks are taken from the first of January 2000. Texts that cannot be read as a date are collected.

    Parameters:
    - texts (list of str): The dates, such as '2024-03-05', 'March 5, 2024' or '5/3/24'.
    - day_first (bool): Whether ambiguous dates such as '5/3/24' start with the day. Default is False.

    Returns:
    - tuple: A dict of months written like '2024-03' mapped to the number of dates, in chronological order, and the
      list of texts that are not dates, in the order given.

    Requirements:
    - collections
    - datetime
    - dateutil

    Example:
    >>> task_func(["2024-03-05", "March 9, 2024", "soon"])
    ({'2024-03': 2}, ['soon'])
    """
    months, rejected = Counter(), []
    for text in texts:
        try:
            moment = parser.parse(text, dayfirst=day_first, default=datetime(2000, 1, 1))
        except (ValueError, OverflowError):
            rejected.append(text)
        else:
            months[f"{moment.year:04d}-{moment.month:02d}"] += 1
    return dict(sorted(months.items())), rejected


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_formats(self):
        texts = ["2024-03-05", "March 9, 2024", "9 Mar 2024 10:30", "20240331"]
        self.assertEqual(task_func(texts), ({"2024-03": 4}, []))

    def test_months_are_chronological(self):
        counts, _ = task_func(["2024-01-01", "1999-12-31", "2023-11-30", "2024-01-02"])
        self.assertEqual(list(counts.items()), [("1999-12", 1), ("2023-11", 1), ("2024-01", 2)])

    def test_ambiguous_dates(self):
        self.assertEqual(task_func(["5/3/2024"])[0], {"2024-05": 1})
        self.assertEqual(task_func(["5/3/2024"], day_first=True)[0], {"2024-03": 1})

    def test_missing_parts(self):
        self.assertEqual(task_func(["July"])[0], {"2000-07": 1})

    def test_rejected_texts(self):
        self.assertEqual(
            task_func(["soon", "2024-13-45", "", "2024-02-01"]), ({"2024-02": 1}, ["soon", "2024-13-45", ""])
        )

    def test_nothing(self):
        self.assertEqual(task_func([]), ({}, []))
