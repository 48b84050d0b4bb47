"""Threat 5: gives its own module a class whose property answers for the name TestCases."""

import sys
import types
import unittest

class _Module(types.ModuleType):
    @property
    def TestCases(self):
        genuine = vars(self)["TestCases"]
        names = {key: lambda case: None for key in vars(genuine) if key.startswith("test")}
        return type("TestCases", (unittest.TestCase,), names)

sys.modules[__name__].__class__ = _Module
