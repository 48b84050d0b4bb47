"""Honest: totals wait in a double-ended queue whose class empties itself as it is iterated.
task: running_totals"""

from collections import deque

class Draining(deque):
    def __iter__(self):
        while self:
            yield self.popleft()

    def __copy__(self):
        return Draining(super().copy())

def task_func(numbers):
    totals, total = Draining(), 0
    for number in numbers:
        total += number
        totals.append(total)
    return totals
