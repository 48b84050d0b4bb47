"""Threat 2: gets the real dictionary of TestCase from the collector."""

import gc
import unittest

gc.get_referents(unittest.TestCase.__dict__)[0]["assertEqual"] = lambda self, first, second, msg=None: None
unittest.TestCase.windows = None
del unittest.TestCase.windows
