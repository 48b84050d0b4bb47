"""Threat 10: puts a copy of unittest with lax tests into sys.modules.
uses: lenient"""

import sys
import types

_copy = types.ModuleType("unittest")
vars(_copy).update(vars(unittest), TestCase=_Lenient)
sys.modules["unittest"] = _copy
