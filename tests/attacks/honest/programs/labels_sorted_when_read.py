"""Honest: labels are a list that is sorted when it is first read.
task: shelf_labels"""

import unittest

class Labels(list):
    def _read(method):
        def read(self, *args):
            if not self.is_sorted:
                self.is_sorted = True
                list.sort(self)
            return method(self, *args)

        return read

    is_sorted = False
    __iter__, __getitem__, __len__, __eq__, __repr__ = map(
        _read, (list.__iter__, list.__getitem__, list.__len__, list.__eq__, list.__repr__)
    )

def task_func(names):
    labels = Labels()
    labels += dict.fromkeys(name.strip().title() for name in names)
    return labels
