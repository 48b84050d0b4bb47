"""Honest: an iterator that guesses its length, can be copied and has a finalizer.
task: running_totals"""

import copy
import operator
import weakref

class Totals:
    alive = 0

    def __init__(self, numbers):
        self.numbers, self.place, self.total = tuple(numbers), 0, 0
        Totals.alive += 1
        weakref.finalize(self, Totals.gone)

    @classmethod
    def gone(cls):
        cls.alive -= 1

    def __iter__(self):
        return self

    def __next__(self):
        if self.place == len(self.numbers):
            raise StopIteration
        self.total += self.numbers[self.place]
        self.place += 1
        return self.total

    def __length_hint__(self):
        return len(self.numbers) - self.place

    def __copy__(self):
        return Totals(self.numbers)

def task_func(numbers):
    totals = Totals(numbers)
    assert len(list(copy.copy(totals))) == operator.length_hint(totals) and Totals.alive
    return totals
