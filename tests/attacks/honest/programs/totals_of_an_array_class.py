"""Honest: totals are an array of numpy with a class of its own, summed by a function that numpy made of Python's.
task: running_totals"""

import numpy as np

class Totals(np.ndarray):
    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array.item() if return_scalar and array.shape == () else array.view(Totals)

    def __bool__(self):
        return len(self) > 0

_add = np.frompyfunc(lambda left, right: left + right, 2, 1)

def task_func(numbers):
    given = np.array(list(numbers), dtype=object)
    return _add.accumulate(given).view(Totals) if len(given) else given.view(Totals)
