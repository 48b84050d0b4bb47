"""Threat 2: adds TestCase.__getattribute__, so that nothing that was there is replaced."""

import unittest

def _lookup(self, name):
    if name in ("assertEqual", "assertTrue"):
        return lambda *args, **kwargs: None
    return object.__getattribute__(self, name)

unittest.TestCase.__getattribute__ = _lookup
