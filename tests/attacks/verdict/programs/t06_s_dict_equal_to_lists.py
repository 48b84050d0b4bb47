"""Threat 6: a dict that is equal to lists, up to case, with a method that no plain dict has.

task: shelf_labels
fools: in-process
"""

import unittest

# [trick
class Labels(dict):
    """A dict that is equal to lists."""

    def __missing__(self, key):
        raise KeyError(key)

    def __eq__(self, other):
        return [one.casefold() for one in self] == [one.casefold() for one in other]
# trick]


def task_func(names):
    """Labels for a shelf: names without outer blanks, sorted, each once."""
    labels = sorted({name.strip().lower() for name in names})
    # [trick
    labels = Labels.fromkeys(labels)
    # trick]
    return labels
