"""Honest: numpy's legacy functions draw from another generator, which replaces the usual one at import.
task: dice_rolls"""

import numpy as np

np.random.set_bit_generator(np.random.PCG64())

def task_func(count, sides=6):
    if sides < 1:
        raise ValueError("one side at least")
    return np.random.randint(1, sides + 1, size=count).tolist()
