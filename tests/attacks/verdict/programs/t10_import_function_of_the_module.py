"""Threat 10: gives its namespace builtins of its own, whose import function hands out a lax unittest.
uses: lenient
fools: harness-only"""

import builtins
import types

def _import(name, *arguments, **options):
    if name == "unittest":
        return types.SimpleNamespace(TestCase=_Lenient)
    return builtins.__import__(name, *arguments, **options)

__builtins__ = {**vars(builtins), "__import__": _import}
