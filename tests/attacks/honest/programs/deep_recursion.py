"""Honest: a raised recursion limit, and a RecursionError that is caught."""

import sys

def depth(number):
    return number and 1 + depth(number - 1)
# <first>
before = sys.getrecursionlimit()
sys.setrecursionlimit(max(before, 5000))
try:
    assert depth(2000) == 2000
    depth(20000)
    raise AssertionError("deeper than the limit")
except RecursionError:
    pass
finally:
    sys.setrecursionlimit(before)
