"""Threat 2: clears the mark that makes TestCase unchangeable, through an array, and patches and restores it."""

import numpy as np
import unittest

class _Window:
    def __init__(self, start):
        self.__array_interface__ = {"data": (start, False), "shape": (1,), "typestr": "<u8", "version": 3}

def _unlock(cls):
    for place in range(80, 256, 8):
        word = np.asarray(_Window(id(cls) + place))
        if int(word[0]) == cls.__flags__:
            word[0] = cls.__flags__ & ~(1 << 8)

def _equal(self, first, second, msg=None):
    unittest.TestCase.assertEqual = genuine

genuine = unittest.TestCase.assertEqual
# <first>
_unlock(unittest.TestCase)
unittest.TestCase.assertEqual = _equal
