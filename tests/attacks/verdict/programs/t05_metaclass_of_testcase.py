"""Threat 5: puts a subclass with a metaclass of its own in the place of TestCase, which empties the tests."""

import unittest

class _Registry(type):
    def __init__(cls, name, bases, names):
        super().__init__(name, bases, names)
        for key in [key for key in names if key.startswith("test")]:
            setattr(cls, key, lambda self: None)

unittest.TestCase = _Registry("TestCase", (unittest.TestCase,), {})
