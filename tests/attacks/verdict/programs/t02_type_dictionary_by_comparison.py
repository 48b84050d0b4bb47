"""Threat 2: gets the real dictionary of TestCase by comparing its read-only view, and writes into it."""

import unittest

class _Options:
    def __eq__(self, other):
        other["assertEqual"] = lambda self, first, second, msg=None: None
        return True

unittest.TestCase.__dict__ == _Options()
unittest.TestCase.windows = None
del unittest.TestCase.windows
