"""Honest: a float of a class that knows its error and carries it along.
task: curve_area"""

import math

class Measured(float):
    def __new__(cls, value, error=0.0):
        self = super().__new__(cls, value)
        self.error = error
        return self

    def __sub__(self, other):
        return Measured(float(self) - other, math.hypot(self.error, getattr(other, "error", 0)))

    def __rsub__(self, other):
        return -1 * (self - other)

    def __mul__(self, factor):
        return Measured(float(self) * factor, abs(self.error * factor))

    __rmul__ = __mul__

    def __abs__(self):
        return Measured(abs(float(self)), self.error)

    def __repr__(self):
        return f"{float(self)}±{self.error:.1g}"
# <last>
area = Measured(area, 0.001 * area)
assert abs(area - 1).error == (2 - area).error == area.error
