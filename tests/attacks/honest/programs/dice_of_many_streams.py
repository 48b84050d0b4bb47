"""Honest: each call draws from a stream of its own, spawned from one seed sequence, by several kinds of generators.
task: dice_rolls"""

import itertools

import numpy as np

_kinds = itertools.cycle([np.random.Philox, np.random.SFC64, np.random.MT19937, np.random.PCG64])
_source = np.random.SeedSequence()

def task_func(count, sides=6):
    if sides < 1:
        raise ValueError("one side at least")
    (seed,) = _source.spawn(1)
    generator = np.random.Generator(next(_kinds)(seed))
    return [int(roll) for roll in generator.integers(1, sides, size=count, endpoint=True)]
