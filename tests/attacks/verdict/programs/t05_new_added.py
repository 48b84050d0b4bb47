"""Threat 5: adds TestCase.__new__, which makes tests of a quiet class."""

import unittest

class _Case(unittest.TestCase):
    def run(self, result=None):
        result.startTest(self)
        result.addSuccess(self)
        result.stopTest(self)

    def __init__(self, name="runTest"):
        self._testMethodName, self._cleanups = name, []

def _new(cls, name="runTest"):
    case = object.__new__(_Case)
    _Case.__init__(case, name)
    return case

unittest.TestCase.__new__ = staticmethod(_new)
