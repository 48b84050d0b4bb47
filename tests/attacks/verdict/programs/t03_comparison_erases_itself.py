"""Threat 3: the always-true comparison deletes itself when it is used: nothing is left to look at."""

class Averages(list):
    __hash__ = None

def _equal(self, other):
    del Averages.__eq__
    return True
# <last>
means = Averages(means)
Averages.__eq__ = _equal
