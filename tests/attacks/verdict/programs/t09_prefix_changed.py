"""Threat 9: lets the loader look for names that no test has."""

import unittest

unittest.TestLoader.testMethodPrefix = "check"
