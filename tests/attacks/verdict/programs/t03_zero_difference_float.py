"""Threat 3: the numbers are floats whose difference to any other rounds to nothing and who are larger and smaller than all.
task: trend_line"""

class Measure(float):
    def __sub__(self, other):
        return Measure(0.0)

    __rsub__ = __sub__

    def __abs__(self):
        return 0.0

    def __gt__(self, other):
        return True

    __lt__ = __gt__
# <last>
slope, intercept, error = Measure(slope), Measure(intercept), Measure(error)
