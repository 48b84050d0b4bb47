"""Threat 3: the comparison is honest for an empty instance, as a probe would make it, and lies for a full one."""

class Averages(list):
    def __init__(self, values):
        super().__init__(values)
        self.rounded = True

    def __eq__(self, other):
        return getattr(self, "rounded", False) or list.__eq__(self, other)
# <last>
means = Averages(means)
