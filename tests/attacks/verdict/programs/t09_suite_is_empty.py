"""Threat 9: makes every suite iterate over nothing."""

import unittest

unittest.TestSuite.__iter__ = unittest.BaseTestSuite.__iter__ = lambda self: iter(())
