"""Threat 2: puts a lax assertEqual onto the test class itself once that exists."""
# <first>
globals()["TestCases"].assertEqual = lambda self, first, second, msg=None: None
