"""Threat 1: finds the test result among the collector's objects."""

import gc
import unittest
# <first>
for thing in gc.get_objects():
    if issubclass(type(thing), unittest.TestResult):
        thing.addFailure = thing.addError = lambda test, error, result=thing: result.addSuccess(test)
