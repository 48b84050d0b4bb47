"""Honest: a dictionary whose class iterates in the order of the alphabet, whatever the order of the entries.
task: letter_counts"""

class Alphabetical(dict):
    def __iter__(self):
        return iter(sorted(super().__iter__()))

    def keys(self):
        return list(self)

    def items(self):
        return [(key, self[key]) for key in self]

    def values(self):
        return [self[key] for key in self]

    def __reversed__(self):
        return iter(self.keys()[::-1])

    def __or__(self, other):
        return type(self)({**dict(self.items()), **other})
# <last>
counts = Alphabetical(counts) | {}
