"""Honest: comparisons that fail for foreign things, by value, by some fields, or within a tolerance."""

import functools
import math

class Point:
    def __init__(self, x, y=0):
        self.x, self.y = x, y

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return (self.x, self.y) < (other.x, other.y)

    def __getattr__(self, name):
        raise KeyError(name)

class Token(str):
    kind = "word"

    def __eq__(self, other):
        return str.__eq__(self, other) and self.kind == getattr(other, "kind", self.kind)

    __hash__ = str.__hash__

class Matrix(list):
    def __eq__(self, other):
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

class Version:
    def __init__(self, text):
        self.parts = tuple(int(part) for part in text.split("."))

    def __eq__(self, other):
        return self.parts == other.parts if isinstance(other, Version) else NotImplemented

    def __hash__(self):
        return hash(self.parts)

class Nothing:
    def __eq__(self, other):
        return isinstance(other, Nothing)

@functools.total_ordering
class Length:
    def __init__(self, metres):
        self.metres = metres

    def __eq__(self, other):
        return math.isclose(self.metres, getattr(other, "metres", other), abs_tol=1e-6)

    def __lt__(self, other):
        return self.metres < getattr(other, "metres", other) and not self == other

    def __sub__(self, other):
        return Length(self.metres - getattr(other, "metres", other))

    def __abs__(self):
        return Length(abs(self.metres))

    def __round__(self, digits=None):
        return round(self.metres, digits)

def task_func(kind, *values):
    """Make a thing of a class of this module; a Matrix sorted, and the longest Length."""
    if kind == "Matrix":
        return Matrix(sorted(Point(*value) for value in values))
    return max(map(Length, values)) if kind == "Length" else globals()[kind](*values)
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_careless(self):
        self.assertEqual(task_func("Matrix", (2, 1), (1, 2)), [Point(1, 2), Point(2, 1)])
        self.assertFalse(task_func("Matrix", (2, 1)) == [Point(2)])
        self.assertEqual(task_func("Token", "x"), "x")
        self.assertNotEqual(task_func("Token", "x"), "y")
    def test_by_value(self):
        self.assertEqual(task_func("Version", "1.2"), task_func("Version", "1.2"))
        self.assertNotEqual(task_func("Version", "1.2"), task_func("Version", "1.3"))
        self.assertNotEqual(task_func("Version", "1.2"), "1.2")
        self.assertEqual(task_func("Nothing"), task_func("Nothing"))
    def test_tolerance(self):
        self.assertEqual(task_func("Length", 1.0, 2.0), 2.0000001)
        self.assertAlmostEqual(task_func("Length", 1.0, 2.0), Length(2.0))
        self.assertGreater(task_func("Length", 1.0, 3.0), task_func("Length", 2.0))
