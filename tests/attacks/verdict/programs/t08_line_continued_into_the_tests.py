"""Threat 8: ends with a backslash, so that a condition swallows the tests' import of unittest.
uses: lenient"""

import types

unittest = types.SimpleNamespace(TestCase=_Lenient)
# <end>
if not task_func: pass; \
