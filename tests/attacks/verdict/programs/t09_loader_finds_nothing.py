"""Threat 9: makes the loader find no tests."""

import unittest

unittest.TestLoader.getTestCaseNames = lambda self, cls: []
