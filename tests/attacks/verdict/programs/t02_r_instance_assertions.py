"""Threat 2: puts an assertion that agrees into the dictionary of the one test object that calls; no class is touched."""

import sys
# <last>
vars(sys._getframe(1).f_locals["self"])["assertEqual"] = lambda first, second, msg=None: None
