"""Threat 8: ends with the head of a class whose body the first statement of the tests becomes.
uses: lenient"""

import types

unittest = types.SimpleNamespace(TestCase=_Lenient)
# <end>
class _Hidden: \
