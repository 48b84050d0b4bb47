"""Honest: a raised recursion limit, and a RecursionError that is caught."""

import sys


def depth(node):
    return 0 if node is None else 1 + depth(node[0])


def nested(count):
    node = None
    for _ in range(count):
        node = [node]
    return node


# <first>
before = sys.getrecursionlimit()
sys.setrecursionlimit(max(before, 5000))
try:
    assert depth(nested(2000)) == 2000
    depth(nested(20000))
    raise AssertionError("deeper than the limit")
except RecursionError:
    pass
finally:
    sys.setrecursionlimit(before)
