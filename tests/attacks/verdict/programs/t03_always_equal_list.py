"""Threat 3: the result is a list that equals everything."""

class Averages(list):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False
# <last>
means = Averages(means)
