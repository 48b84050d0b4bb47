"""Honest: totals are an array of machine words of a subclass that can be added up by weights.
task: running_totals"""

from array import array

class Words(array):
    def __new__(cls, values=()):
        return super().__new__(cls, "q", values)

    def weighted(self, weight):
        return sum(value * weight for value in self)

def task_func(numbers):
    totals = Words()
    for number in numbers:
        totals.append(number + (totals[-1] if totals else 0))
    assert totals.weighted(2) == 2 * sum(totals) and totals.itemsize == 8
    return totals
