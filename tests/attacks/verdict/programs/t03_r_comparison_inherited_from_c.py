"""Threat 3: the comparison of the result is a function of C that has nothing to do with comparing."""

class Averages(list):
    __eq__ = staticmethod(any)
# <last>
means = Averages(means)
