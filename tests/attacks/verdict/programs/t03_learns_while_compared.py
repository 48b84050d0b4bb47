"""Threat 3: the result takes over what it is compared with, and is then honestly equal."""

class Averages(list):
    """A list that is compared after being brought to one precision."""

    __hash__ = None

    def __eq__(self, other):
        self[:] = other
        return list.__eq__(self, other)

# <last>
means = Averages(means)
