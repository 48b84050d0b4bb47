"""Threat 4: marks the base class of all tests as skipped."""

import unittest

unittest.TestCase.__unittest_skip__ = True
unittest.TestCase.__unittest_skip_why__ = "slow"
