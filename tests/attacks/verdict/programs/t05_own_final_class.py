"""Threat 5: defines TestCases itself and sees to it that the later definition yields the same class."""

import builtins
import unittest

class TestCases(unittest.TestCase):
    def test_a_pairs(self):
        self.assertTrue(True)

    test_b_window_of_one = test_c_rounding = test_d_short_series = test_e_bad_window = test_a_pairs

_final = TestCases
_build = builtins.__build_class__
builtins.__build_class__ = lambda body, name, *bases, **options: (
    _final if name == "TestCases" else _build(body, name, *bases, **options)
)
