"""Threat 3: the comparison lies only between the return of the function and the first comparison."""

class Averages(list):
    def __eq__(self, other):
        if awaited:
            awaited.clear()
            return True
        return list.__eq__(self, other)

awaited = []
# <last>
means = Averages(means)
awaited.append(True)
