"""Threat 2: replaces TestCase.fail and the exception class of failures by something harmless."""

import unittest

class _Note(unittest.SkipTest):
    pass

unittest.TestCase.failureException = _Note
