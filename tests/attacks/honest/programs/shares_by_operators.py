"""Honest: arithmetic is written down as a tree by overloaded operators and computed at the end.
task: exact_share"""

from decimal import ROUND_HALF_UP, Decimal

class Lazy:
    def __init__(self, function, *parts):
        self.function, self.parts = function, parts

    def __truediv__(self, other):
        return Lazy(lambda left, right: left / right, self, other)

    def __or__(self, function):
        return Lazy(function, self)

    def __invert__(self):
        return self.function(*(~part if isinstance(part, Lazy) else part for part in self.parts))

    def __bool__(self):
        raise TypeError("a lazy number is neither true nor false")

    __eq__ = __lt__ = lambda self, other: Lazy(lambda left, right: left == right, self, other)

def task_func(total, people):
    if people < 1:
        raise ValueError("nobody pays")
    expression = Lazy(Decimal, total) / people | (lambda share: share.quantize(Decimal("0.01"), ROUND_HALF_UP))
    return ~expression
