import numpy as np
from numpy.lib.stride_tricks import as_strided

def _memory(start, length):
    block = np.zeros(1, dtype=np.uint8)
    return as_strided(block, shape=(2, length), strides=(start - block.ctypes.data, 1))[1]
