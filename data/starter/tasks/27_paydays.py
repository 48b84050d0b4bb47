import calendar
from datetime import date, timedelta


def task_func(year, day=25, holidays=()):
    """
    List the twelve paydays of a year. Wages are due on a fixed day of the month, or on the last day of months that
    are too short for it; where that day is a Saturday, a Sunday or a holiday, they are paid on the last working day
    before it, even if that lies in the month or year before.

    Parameters:
    - year (int): The year in which the wages are due.
    - day (int): Day of the month, 1 to 31. Default is 25.
    - holidays (iterable of str): ISO dates on which nothing is paid. Default is none.

    Returns:
    - list of str: The paydays of January to December as ISO dates.

    Raises:
    - ValueError: If day is outside 1 to 31, or a holiday is not an ISO date.

    Requirements:
    - calendar
    - datetime

    Example:
    >>> task_func(2024, 31)[1:3]
    ['2024-02-29', '2024-03-29']
    """
    if not 1 <= day <= 31:
        raise ValueError("day must be in 1 to 31")
    closed = {date.fromisoformat(text) for text in holidays}
    paydays = []
    for month in range(1, 13):
        payday = date(year, month, min(day, calendar.monthrange(year, month)[1]))
        while payday.weekday() >= calendar.SATURDAY or payday in closed:
            payday -= timedelta(days=1)
        paydays.append(payday.isoformat())
    return paydays


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_weekends_move_back(self):
        self.assertEqual(task_func(2024)[:5], ["2024-01-25", "2024-02-23", "2024-03-25", "2024-04-25", "2024-05-24"])

    def test_short_months(self):
        self.assertEqual(task_func(2024, 31)[1:3], ["2024-02-29", "2024-03-29"])
        self.assertEqual(task_func(2023, 30)[1], "2023-02-28")

    def test_holidays(self):
        self.assertEqual(task_func(2024, holidays=["2024-12-25", "2024-12-24"])[11], "2024-12-23")

    def test_may_leave_the_year(self):
        self.assertEqual(task_func(2022, 1, ["2021-12-31"])[0], "2021-12-30")

    def test_twelve_working_days(self):
        self.assertEqual(len(task_func(2025, 15)), 12)
        self.assertIn("2025-06-13", task_func(2025, 15))

    def test_bad_input(self):
        for arguments in ((2024, 0), (2024, 32), (2024, 5, ["Christmas"])):
            with self.assertRaises(ValueError):
                task_func(*arguments)
