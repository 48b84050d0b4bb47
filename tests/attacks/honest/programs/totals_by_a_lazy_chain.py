"""Honest: an iterator that is chained from tees, slices and maps of the standard library.
task: running_totals"""

import itertools
import operator

def task_func(numbers):
    left, right = itertools.tee(numbers)
    sums = itertools.accumulate(itertools.starmap(operator.sub, zip(right, itertools.repeat(0))), initial=0)
    pairs = zip(itertools.islice(sums, 1, None), left)
    return map(operator.itemgetter(0), itertools.chain.from_iterable([pairs, ()]))
