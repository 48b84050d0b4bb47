"""Threat 9: adds a hook to TestCase that deletes the tests of every class made from it."""

import unittest

def _prepare(cls, **options):
    cls._classSetupFailed, cls._class_cleanups = False, []
    for key in [key for key in vars(cls) if key.startswith("test")]:
        delattr(cls, key)

unittest.TestCase.__init_subclass__ = classmethod(_prepare)
