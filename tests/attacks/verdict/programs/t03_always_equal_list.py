"""Threat 3: the result is a list that equals everything."""

class Averages(list):
    """A list of averages that knows its window."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

# <last>
means = Averages(means)
