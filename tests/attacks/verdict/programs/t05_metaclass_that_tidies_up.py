"""Threat 5: does the same and puts the genuine TestCase back as soon as the tests are derived from the other."""

import unittest

class _Registry(type):
    def __call__(cls, name="runTest"):
        case = super().__call__(name)
        vars(case)[name] = lambda: None
        return case

    def __init__(cls, name, bases, names):
        super().__init__(name, bases, names)
        if name == "TestCases":
            unittest.TestCase = genuine

genuine = unittest.TestCase
unittest.TestCase = _Registry("TestCase", (genuine,), {})
