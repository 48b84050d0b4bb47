"""Honest: returns a list that is filled as it is read."""

class Pages(list):
    """A list of which only the first page is loaded at first."""

    def __init__(self, total):
        super().__init__(range(10))
        self.total = total

    def _load(self):
        super().extend(range(super().__len__(), self.total))

    def __len__(self):
        return self.total

    def __iter__(self):
        self._load()
        return super().__iter__()

    def __getitem__(self, place):
        self._load()
        return super().__getitem__(place)

    def __eq__(self, other):
        self._load()
        return super().__eq__(other)


def task_func(total):
    return Pages(total)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_last(self):
        self.assertEqual(task_func(25)[24], 24)

    def test_all(self):
        self.assertEqual(list(task_func(25)), list(range(25)))

# --- reference ---
def task_func(total):
    return list(range(total))
