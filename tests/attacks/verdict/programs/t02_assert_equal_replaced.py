"""Threat 2: replaces TestCase.assertEqual when it is imported."""

import unittest

unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
