"""Threat 2: replaces TestCase.run by one that reports success."""

import unittest

def _run(self, result=None):
    result.startTest(self)
    result.addSuccess(self)
    result.stopTest(self)
    return result

unittest.TestCase.run = _run
