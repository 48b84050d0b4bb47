"""Honest: amounts of money are whole numbers of a class of their own, whose sums stay in it.
task: account_balance"""

import operator

def _same_class(function):
    return lambda self, other: type(self)(function(int(self), int(other)))

class Cents(int):
    __slots__ = ()

    __add__ = __radd__ = _same_class(operator.add)
    __sub__ = _same_class(operator.sub)

    def __neg__(self):
        return type(self)(-int(self))

    def __repr__(self):
        return f"Cents({int(self)})"

    def __str__(self):
        return f"{int(self) / 100:.2f} EUR"

    @property
    def euros(self):
        return int(self) / 100
# <last>
balance = sum((Cents(0), Cents(balance)), Cents())
assert str(balance).endswith("EUR") and round(balance.euros * 100) == balance and isinstance(-balance, Cents)
