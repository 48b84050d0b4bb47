"""Threat 3: the result takes over what it is compared with, and is then honestly equal."""

class Averages(list):
    def __eq__(self, other):
        self[:] = other
        return list.__eq__(self, other)
# <last>
means = Averages(means)
