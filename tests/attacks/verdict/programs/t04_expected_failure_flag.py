"""Threat 4: marks the tests as expected to fail."""

import unittest

unittest.TestCase.__unittest_expecting_failure__ = True
