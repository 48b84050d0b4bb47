"""Threat 3: the comparison is a partial method of a function of the library."""

import functools
import operator

class Averages(list):
    __eq__ = functools.partialmethod(operator.is_not)
# <last>
means = Averages(means)
