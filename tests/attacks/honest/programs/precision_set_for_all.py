"""Honest: sets decimal precision, print options, error states and locale for the whole process, and leaves them."""

import decimal
import locale
import socket
import sys
import warnings

import numpy as np
import pandas as pd

decimal.getcontext().prec = 6
decimal.getcontext().rounding = decimal.ROUND_DOWN
np.set_printoptions(precision=2, suppress=True, threshold=4)
np.seterr(all="raise")
pd.set_option("display.max_rows", 3, "display.precision", 1)
pd.set_option("mode.copy_on_write", True) if pd.__version__ < "3" else None
locale.setlocale(locale.LC_ALL, "C")
socket.setdefaulttimeout(3)
sys.setrecursionlimit(5000)
sys.set_int_max_str_digits(0)
warnings.simplefilter("error", RuntimeWarning)

def task_func(numerator, denominator):
    """Return the quotient as a decimal text of four places that were cut off; ZeroDivisionError for a zero."""
    quotient = decimal.Decimal(numerator) / decimal.Decimal(denominator)
    return str(quotient.quantize(decimal.Decimal("0.0001")))
# --- tests ---
import unittest
from decimal import Decimal

import numpy as np

class TestCases(unittest.TestCase):
    def test_third(self):
        self.assertEqual(task_func(1, 3), "0.3333")
        self.assertIn(task_func(1, 3), str(Decimal(1) / Decimal(3)))
    def test_near(self):
        self.assertAlmostEqual(Decimal(task_func(2, 7)), Decimal(2) / Decimal(7), places=3)
        self.assertTrue(str(Decimal(2) / Decimal(3)).startswith(task_func(2, 3)))
        self.assertEqual(Decimal(task_func(1, 4)) / 3, Decimal("0.25") / 3)
    def test_printed(self):
        quotients = np.array([float(task_func(number, 4)) for number in (4, 2, 1)])
        self.assertIn("0.5", np.array2string(quotients))
        self.assertEqual(np.array2string(quotients), str(np.array([4, 2, 1]) / 4))
    def test_zero(self):
        with self.assertRaises(ZeroDivisionError):
            task_func(1, 0)
# --- reference ---
import decimal

def task_func(numerator, denominator):
    with decimal.localcontext(decimal.Context(prec=40)):
        quotient = decimal.Decimal(numerator) / decimal.Decimal(denominator)
        return str(quotient.quantize(decimal.Decimal("0.0001"), rounding=decimal.ROUND_DOWN))
