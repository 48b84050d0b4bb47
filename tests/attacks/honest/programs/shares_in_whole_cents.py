"""Honest: computes with fractions and whole cents, and builds the decimal from sign, digits and exponent.
task: exact_share"""

import math
from decimal import Decimal
from fractions import Fraction

def task_func(total, people):
    if people < 1:
        raise ValueError("nobody pays")
    cents = math.floor(Fraction(Decimal(total)) * 100 / people + Fraction(1, 2))
    return Decimal((0, tuple(map(int, str(cents))), -2))
