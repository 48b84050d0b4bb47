"""Honest: windows over an array by strides, and other views of memory that numpy hands out."""

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
# <last>
array = np.array(values, dtype=float)
step = array.strides[0]
strided = as_strided(array, shape=(len(array) - window + 1, window), strides=(step, step))
assert np.array_equal(strided, sliding_window_view(array, window)) and np.shares_memory(array, strided)
assert np.frombuffer(array.tobytes(), dtype=float).sum() == sum(values) and memoryview(array).nbytes == 8 * len(values)
means = strided.mean(axis=1).round(2).tolist()
