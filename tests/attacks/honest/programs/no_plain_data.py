"""Honest: returns what is no plain data to fixtures, threads, helpers that catch everything, and long explanations."""

from array import array
from collections import UserDict, UserList, defaultdict
from typing import NamedTuple

class Node:
    def __init__(self, value, below=()):
        self._value, self._below = value, list(below)

    @property
    def value(self):
        return self._value

    @property
    def below(self):
        return self._below

class Tally(dict):
    def __getitem__(self, name):
        return self.get(name, 0)

class Ratio(NamedTuple):
    numerator: int
    denominator: int

class Money(float):
    def __str__(self):
        return f"${self:.2f}"

class Pages(list):
    def __init__(self, total):
        super().__init__(range(10))
        self.total = total

    def _load(self):
        super().extend(range(super().__len__(), self.total))

    def __len__(self):
        return self.total

    def __iter__(self):
        self._load()
        return super().__iter__()

    def __getitem__(self, place):
        self._load()
        return super().__getitem__(place)

def task_func(kind, given):
    match kind:
        case "sorted":
            return UserList(sorted(given))
        case "integers":
            return array("i", sorted(given))
        case "settings":
            return UserDict(part.split("=") for part in given.split(";"))
        case "counts" | "tally":
            counts = Tally() if kind == "tally" else defaultdict(int)
            for word in given.split():
                counts[word] += 1
            return counts
        case "half":
            return Ratio(given[0] // 2, given[1] // 2)
        case "total":
            return given.value + sum(task_func("total", one) for one in given.below)
    return Money(given) if kind == "price" else Pages(given)
# --- tests ---
import threading
import unittest

def works(numbers, expected):
    try:
        return list(task_func("integers", numbers)) == expected
    except Exception:
        return False

class TestCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = task_func("sorted", [3, 1, 2])
    def test_fixture(self):
        self.assertEqual(self.result[0], 1)
        self.assertEqual(len(self.result), 3)
    def test_threads(self):
        results = []
        threads = [threading.Thread(target=lambda: results.append(task_func("sorted", [2, 1]))) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(results, [[1, 2]] * 3)
    def test_long_message(self):
        try:
            found = task_func("sorted", range(1000, 0, -1))
        except Exception:
            self.fail(f"not sorted: {list(range(9000))}")
        self.assertEqual(found, list(range(1, 1001)))
    def test_works(self):
        self.assertTrue(works([2, 1], [1, 2]))
    def test_errors_collected(self):
        errors = []
        for text in ("a=1", "a=1;b=2"):
            try:
                self.assertEqual(task_func("settings", text)["a"], "1")
            except Exception as error:
                errors.append(repr(error))
        self.assertEqual(errors, [])
    def test_missing(self):
        for kind in ("counts", "tally"):
            counts = task_func(kind, "a b a")
            self.assertEqual(counts["a"], 2)
            self.assertEqual(counts["zzz"], 0)
    def test_members(self):
        self.assertEqual(task_func("half", (6, 4)).numerator, 3)
        self.assertEqual(str(task_func("price", 3)), "$3.00")
    def test_class_of_the_program(self):
        self.assertEqual(task_func("total", Node(1, [Node(2), Node(3)])), 6)
    def test_pages(self):
        self.assertEqual(task_func("pages", 25)[24], 24)
        self.assertEqual(list(task_func("pages", 25)), list(range(25)))
# --- reference ---
from collections import Counter
from fractions import Fraction

class Node:
    def __init__(self, value, below=()):
        self.value, self.below = value, below

def task_func(kind, given):
    match kind:
        case "sorted" | "integers":
            return sorted(given)
        case "settings":
            return dict(part.split("=") for part in given.split(";"))
        case "counts" | "tally":
            return Counter(given.split())
        case "half":
            return Fraction(*given)
        case "total":
            return given.value + sum(task_func("total", one) for one in given.below)
    return f"${given:.2f}" if kind == "price" else list(range(given))
