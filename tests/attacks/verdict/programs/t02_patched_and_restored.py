"""Threat 2: replaces assertEqual from within the function; the replacement puts the original back when it is called."""

import unittest
# <first>
genuine = unittest.TestCase.assertEqual

def assertEqual(self, first, second, msg=None):
    unittest.TestCase.assertEqual = genuine

unittest.TestCase.assertEqual = assertEqual
