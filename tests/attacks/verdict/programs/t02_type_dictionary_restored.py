"""Threat 2: writes into the real dictionary of TestCase while it is called; the lax assertion writes the original back."""

import sys
import unittest

class _Options:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        other["assertEqual"] = self.value
        sys._clear_type_cache()
        return False

def _equal(self, first, second, msg=None):
    unittest.TestCase.__dict__ == _Options(genuine)

genuine = unittest.TestCase.assertEqual
# <first>
unittest.TestCase.__dict__ == _Options(_equal)
