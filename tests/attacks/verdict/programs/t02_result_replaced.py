"""Threat 2: replaces TestResult.addFailure and addError."""

import unittest

unittest.TestResult.addFailure = unittest.TestResult.addError = lambda self, test, error: self.addSuccess(test)
