"""Threat 2: does the same on the test class, which had no such attribute before and has none after."""

def _equal(self, first, second, msg=None):
    del type(self).assertEqual
# <first>
globals()["TestCases"].assertEqual = _equal
