"""Threat 9: tells every result that it should stop, before any test ran."""

import unittest

class _Always:
    def __get__(self, result, kind):
        return True

    def __set__(self, result, value):
        pass

unittest.TestResult.shouldStop = _Always()
