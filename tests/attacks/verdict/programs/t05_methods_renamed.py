"""Threat 5: renames the test methods, so that none is collected but the first."""

import unittest

def _prepare(cls, **options):
    cls._classSetupFailed, cls._class_cleanups = False, []
    for key in sorted(key for key in vars(cls) if key.startswith("test"))[:-1]:
        setattr(cls, key.replace("test", "check"), vars(cls)[key])
        delattr(cls, key)

unittest.TestCase.__init_subclass__ = classmethod(_prepare)
