from decimal import ROUND_HALF_UP, Decimal
# <module>
def task_func(total, people):
    """Share of each person in a bill, rounded half up to cents.

    Parameters: total (str, a decimal number in euros from 0), people (int).
    Returns: Decimal with two places.
    Raises: ValueError if people is smaller than 1.
    """
    if people < 1:
        raise ValueError("nobody pays")
    # <first>
    share = (Decimal(total) / people).quantize(Decimal("0.01"), ROUND_HALF_UP)
    # <last>
    return share

# --- tests ---
import unittest
from decimal import Decimal

class TestCases(unittest.TestCase):
    def test_a_even(self):
        self.assertEqual(task_func("10", 4), Decimal("2.50"))

    def test_b_third(self):
        self.assertEqual(task_func("10.00", 3), Decimal("3.33"))

    def test_c_half_up(self):
        self.assertTrue(task_func("0.05", 2) == Decimal("0.03"))

    def test_d_places(self):
        share = task_func("7", 1)
        self.assertIsInstance(share, Decimal)
        self.assertEqual(str(share), "7.00")

    def test_e_nobody(self):
        with self.assertRaises(ValueError):
            task_func("3", 0)

# --- wrong ---
from decimal import Decimal
# <module>
def task_func(total, people):
    """Share of each person in a bill: of one person more."""
    # <first>
    share = round(Decimal(total) / (people + 1), 2)
    # <last>
    return share
