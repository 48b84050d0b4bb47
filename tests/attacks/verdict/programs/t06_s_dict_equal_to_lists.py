"""Threat 6: a dict that is equal to lists, up to case, with a method that no plain dict has.
task: shelf_labels"""

class Labels(dict):
    def __missing__(self, key):
        raise KeyError(key)

    def __eq__(self, other):
        return [one.casefold() for one in self] == [one.casefold() for one in other]
# <last>
labels = Labels.fromkeys(labels)
