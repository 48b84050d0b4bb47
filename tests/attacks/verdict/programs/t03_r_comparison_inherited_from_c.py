"""Threat 3: the comparison of the result is a function of C that has nothing to do with comparing."""

class Averages(list):
    """Averages, equal to what is not empty."""

    __hash__ = None
    __eq__ = staticmethod(any)

# <last>
means = Averages(means)
