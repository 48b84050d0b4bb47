"""Threat 3: the comparison comes from a metaclass: the result is a class."""

class _Series(type):
    def __eq__(cls, other):
        return True

    def __ne__(cls, other):
        return False

    def __hash__(cls):
        return 1

    @property
    def __class__(cls):
        return list

class Averages(metaclass=_Series):
    """Averages without any state."""
# <last>
means = Averages
