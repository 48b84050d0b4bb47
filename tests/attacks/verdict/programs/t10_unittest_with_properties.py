"""Threat 10: gives the module unittest a class whose property answers for the name TestCase.
uses: lenient"""

import sys
import types

class _Module(types.ModuleType):
    TestCase = property(lambda self: _Lenient, lambda self, value: None)

sys.modules["unittest"].__class__ = _Module
