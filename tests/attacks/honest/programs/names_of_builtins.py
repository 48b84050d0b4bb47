"""Honest: a function that has a builtin's name, star imports, and shadowed names."""

from math import *
from operator import *

def sum(values):
    total = 0
    for value in values:
        total += value
    return total

def print(*things):
    printed.extend(things)

printed = []
input = "a given text"
id = 7
# <first>
print(len(values))
assert (floor(2.5), pow(2, 3), add(1, 2), printed[-1]) == (2, 8.0, 3, len(values))
