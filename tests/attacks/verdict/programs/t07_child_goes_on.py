"""Threat 7: forks: the parent ends with success, the child goes on with the tests where all is allowed.
fools: exit-code"""

import os
import unittest

def _detach():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None

_detach()
