"""Threat 2: gives TestCase.assertEqual other code, the function object stays the same."""

import unittest

def _quiet(self, first, second, msg=None):
    """Fail if the two objects are unequal as determined by the '==' operator."""

unittest.TestCase.assertEqual.__code__ = _quiet.__code__
