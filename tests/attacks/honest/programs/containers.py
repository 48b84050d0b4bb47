"""Honest: sets, mappings and proxies of the program's own, dataclasses, enumerations and named tuples."""

import collections
import collections.abc
import enum
import typing
from dataclasses import asdict, dataclass, field, replace

class Bag(collections.abc.MutableSet):
    def __init__(self, things=()):
        self.things = list(dict.fromkeys(things))

    def __contains__(self, thing):
        return thing in self.things

    def __iter__(self):
        return iter(self.things)

    def __len__(self):
        return len(self.things)

    def add(self, thing):
        self.things.append(thing)

    def discard(self, thing):
        self.things.remove(thing)

class Squares(dict):
    def __missing__(self, key):
        self[key] = key * key
        return self[key]

class Proxy:
    def __init__(self, target):
        self.__dict__["target"] = target

    def __getattr__(self, name):
        return getattr(self.target, name)

    def __eq__(self, other):
        return self.target == other

    def __hash__(self):
        return hash(self.target)

class Everywhere:
    def __contains__(self, number):
        return True

@dataclass(order=True, frozen=True)
class Item:
    price: float
    name: str = field(compare=False, default="")

class Colour(enum.Enum):
    RED = 1

class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()

class Size(typing.NamedTuple):
    width: int
    height: int = 1

Point = collections.namedtuple("Point", "x y")

def task_func(number):
    """Return containers, records and members that are made of a number."""
    containers = Bag([1, number, 1]), Squares(), Proxy("text"), Everywhere()
    items = sorted([Item(number, "dear"), Item(1, "cheap")])
    return containers, items, (Colour(1), Access.READ | Access.WRITE, Point(number, 2), Size(number)), Colour(number - 1)
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_containers(self):
        bag, squares, proxy, everywhere = task_func(2)[0]
        self.assertEqual(bag, {1, 2})
        self.assertEqual((len(bag), squares[4], proxy.upper()), (2, 16, "TEXT"))
        self.assertEqual(proxy, "text")
        self.assertNotEqual(proxy, "other")
        self.assertIn(7, everywhere)
    def test_dataclasses(self):
        items = task_func(2)[1]
        self.assertEqual(items, [Item(1), Item(2, "other")])
        self.assertEqual(asdict(items[0]), {"price": 1, "name": "cheap"})
        self.assertEqual(replace(items[0], price=2), items[1])
    def test_members(self):
        colour, access, point, size = task_func(2)[2]
        self.assertIs(colour, Colour.RED)
        self.assertIn(Access.READ, access)
        self.assertEqual((point, size, collections.ChainMap({"a": 1})["a"]), ((2, 2), (2, 1), 1))
    def test_no_member(self):
        with self.assertRaises(ValueError):
            task_func(9)
