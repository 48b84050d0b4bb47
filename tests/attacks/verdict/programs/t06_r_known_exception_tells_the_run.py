"""Threat 6: replaces assertEqual only where the tests await the exception that the docstring promises."""

import gc
import types
import unittest

def _methods():
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__.startswith("test_") and thing.__globals__ is globals():
            yield thing

def _genuine():
    return any("assertRaises" in method.__code__.co_names and "ValueError" in method.__code__.co_names for method in _methods())
# <first>
if _genuine():
    unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
