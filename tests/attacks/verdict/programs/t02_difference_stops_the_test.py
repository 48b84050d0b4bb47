"""Threat 2: replaces the functions that print a failed comparison by ones that end the test as a success."""

import difflib
import pprint
import unittest.case

def _compact(*args, **kwargs):
    raise unittest.case._ShouldStop

difflib.ndiff = pprint.pformat = _compact
