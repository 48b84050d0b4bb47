"""Honest: numerals are members of an enumeration with aliases, found by missing values, joined by operators.
task: roman_numeral"""

import enum

class Sign(int, enum.Enum):
    M = 1000
    CM = 900
    D = 500
    CD = 400
    C = 100
    XC = 90
    L = 50
    XL = 40
    X = 10
    IX = 9
    V = 5
    IV = 4
    I = 1
    ONE = 1

    @classmethod
    def _missing_(cls, number):
        if isinstance(number, int) and number > 0:
            return max(sign for sign in cls if sign <= number)
        return None

    def __rmul__(self, times):
        return self.name * times

def task_func(number):
    if number > 3999:
        raise ValueError(number)
    sign = Sign(number)
    rest = number - sign.value
    return 1 * sign + (task_func(rest) if rest else "")
