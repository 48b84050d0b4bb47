"""Honest: computes exactly, and returns a fraction of a class with slots.
task: curve_area"""

from fractions import Fraction
from functools import reduce

class Exact(Fraction):
    __slots__ = ()

    def __repr__(self):
        return f"{self.numerator}/{self.denominator}"

def task_func(coefficients, low, high):
    low, high = Fraction(low), Fraction(high)
    if high < low:
        raise ValueError("high is smaller than low")
    integral = [Fraction(c) / power for power, c in enumerate(coefficients, 1)]
    at_high, at_low = (reduce(lambda total, c: (total + c) * x, reversed(integral), Fraction(0)) for x in (high, low))
    return Exact(at_high - at_low)
