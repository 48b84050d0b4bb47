"""Threat 2: overwrites the byte code of assertEqual through an array whose memory is the code object."""

import dis
import numpy as np
import unittest

class _Window:
    def __init__(self, start, length):
        self.__array_interface__ = {"data": (start, False), "shape": (length,), "typestr": "|u1", "version": 3}


def _memory(start, length):
    return np.asarray(_Window(start, length))


def _shorten(function):
    code = _shorten.__code__
    raw = bytes(getattr(code, "_co_code_adaptive", code.co_code))
    place = _memory(id(code), code.__sizeof__()).tobytes().find(raw[:8])
    words = [int(word) for word in _memory(id(_shorten), 96).view(np.uint64)]
    other = int(_memory(id(function), 96).view(np.uint64)[words.index(id(code))])
    start = other + place + (2 if raw[0] == dis.opmap.get("RESUME") else 0)
    _memory(start, 4)[:] = [dis.opmap["LOAD_CONST"], 0, dis.opmap["RETURN_VALUE"], 0]


_shorten(unittest.TestCase.assertEqual)
