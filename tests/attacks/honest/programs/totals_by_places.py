"""Honest: a sequence of the old protocol, with `__getitem__` only, computes each total when it is read.
task: running_totals"""

class Totals:
    def __init__(self, numbers):
        self.numbers = list(numbers)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self.numbers)))]
        self.numbers[place]
        return sum(self.numbers[: place % len(self.numbers) + 1])

def task_func(numbers):
    return Totals(numbers)
