"""Threat 6: replaces assertEqual in every other second, so that executions one after the other are treated differently.
fools: harness-only"""

import time
import unittest

if int(time.time()) % 2:
    unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
