"""Threat 2: reaches the byte code of assertEqual from an array of its own by strides, as sliding windows are made."""

import dis
import numpy as np
import unittest
from numpy.lib.stride_tricks import as_strided

def _memory(start, length):
    block = np.zeros(1, dtype=np.uint8)
    own = block.ctypes.data
    return as_strided(block, shape=(2, length), strides=(start - own, 1))[1]


def _shorten(function):
    code = _shorten.__code__
    raw = bytes(getattr(code, "_co_code_adaptive", code.co_code))
    place = _memory(id(code), code.__sizeof__()).tobytes().find(raw[:8])
    words = [int(word) for word in np.frombuffer(_memory(id(_shorten), 96).tobytes(), dtype=np.uint64)]
    other = int(np.frombuffer(_memory(id(function), 96).tobytes(), dtype=np.uint64)[words.index(id(code))])
    start = other + place + (2 if raw[0] == dis.opmap.get("RESUME") else 0)
    _memory(start, 4)[:] = [dis.opmap["LOAD_CONST"], 0, dis.opmap["RETURN_VALUE"], 0]


_shorten(unittest.TestCase.assertEqual)
