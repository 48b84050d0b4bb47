"""Honest: single dispatch by type, of functions and of methods, over classes that are virtual subclasses of others.
task: roman_numeral"""

import abc
import functools
import numbers
from fractions import Fraction

class Digit(metaclass=abc.ABCMeta):
    def __init__(self, value, place):
        self.value, self.place = value, place

numbers.Number.register(Digit)

class Writer:
    signs = "IVXLCDM  "

    @functools.singledispatchmethod
    def write(self, thing):
        raise TypeError(type(thing))

    @write.register(numbers.Integral)
    def _(self, number):
        if not 1 <= number <= 3999:
            raise ValueError("from 1 to 3999")
        digits = str(int(number))[::-1]
        return "".join(self.write(Digit(int(digit), place)) for place, digit in enumerate(digits))[::-1]

    @write.register
    def _(self, digit: Digit):
        one, five, ten = self.signs[2 * digit.place : 2 * digit.place + 3]
        parts = ["", one, one * 2, one * 3, one + five, five, five + one, five + one * 2, five + one * 3, one + ten]
        return parts[digit.value][::-1]

    @write.register(Fraction)
    def _(self, number):
        return self.write(number.numerator) + "/" + self.write(number.denominator)

def task_func(number):
    return Writer().write(number)
