from datetime import date
from decimal import ROUND_DOWN, Decimal

from dateutil.relativedelta import relativedelta


def task_func(total, count, first_due, months=1):
    """
    Plan the instalments of a purchase. All instalments but the last are the total divided by their number, rounded
    down to cents; the last one carries the rest. They are due every `months` months, counted from the first date, on
    its day of the month or the month's last day where that does not exist.

    Parameters:
    - total (str): The amount to pay, such as '100.00'.
    - count (int): Number of instalments.
    - first_due (str): ISO date of the first instalment.
    - months (int): Months between two instalments. Default is 1.

    Returns:
    - list of tuple: (ISO date, Decimal amount with two digits after the point) pairs in the order of payment.

    Raises:
    - ValueError: If count or months is smaller than 1, or the total is not positive.

    Requirements:
    - datetime
    - dateutil
    - decimal

    Example:
    >>> task_func("100.00", 3, "2024-01-31")
    [('2024-01-31', Decimal('33.33')), ('2024-02-29', Decimal('33.33')), ('2024-03-31', Decimal('33.34'))]
    """
    amount = Decimal(total)
    if count < 1 or months < 1 or amount <= 0:
        raise ValueError("count, months and total must be positive")
    start = date.fromisoformat(first_due)
    share = (amount / count).quantize(Decimal("0.01"), rounding=ROUND_DOWN)
    plan = []
    for number in range(count):
        part = share if number < count - 1 else (amount - share * (count - 1)).quantize(Decimal("0.01"))
        plan.append(((start + relativedelta(months=months * number)).isoformat(), part))
    return plan


# --- tests ---
import unittest
from decimal import Decimal


class TestCases(unittest.TestCase):
    def test_month_ends(self):
        self.assertEqual(
            [day for day, _ in task_func("100.00", 4, "2024-01-31")],
            ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"],
        )

    def test_last_carries_the_rest(self):
        amounts = [amount for _, amount in task_func("100.00", 3, "2024-01-31")]
        self.assertEqual(amounts, [Decimal("33.33"), Decimal("33.33"), Decimal("33.34")])

    def test_amounts_add_up(self):
        self.assertEqual(sum(amount for _, amount in task_func("999.97", 12, "2023-05-05")), Decimal("999.97"))

    def test_longer_intervals_cross_years(self):
        self.assertEqual(
            [day for day, _ in task_func("9", 3, "2023-11-30", months=3)], ["2023-11-30", "2024-02-29", "2024-05-30"]
        )

    def test_single_instalment(self):
        self.assertEqual(task_func("12.5", 1, "2024-06-01"), [("2024-06-01", Decimal("12.50"))])
        self.assertEqual(str(task_func("12.5", 1, "2024-06-01")[0][1]), "12.50")

    def test_bad_input(self):
        for arguments in (("1", 0, "2024-01-01"), ("1", 1, "2024-01-01", 0), ("0", 1, "2024-01-01"), ("1", 1, "today")):
            with self.assertRaises(ValueError):
                task_func(*arguments)
