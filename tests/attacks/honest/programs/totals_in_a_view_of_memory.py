"""Honest: totals are a view of the memory of a C array, cast to its numbers.
task: running_totals"""

import ctypes

def task_func(numbers):
    given = list(numbers)
    memory = (ctypes.c_longlong * max(len(given), 1))()
    for place, number in enumerate(given):
        memory[place] = number + (memory[place - 1] if place else 0)
    return memoryview(memory).cast("B").cast("q")[: len(given)].toreadonly()
