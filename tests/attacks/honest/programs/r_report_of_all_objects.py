"""Honest: a report of all objects by type and of what refers to one, frozen and watched collections, weak references."""

import gc
import sys
import weakref
from collections import Counter

collections = []
gc.callbacks.append(lambda phase, info: collections.append((phase, info["generation"])))
gc.freeze()
gc.set_threshold(100, 5, 5)


class Node:
    alive = weakref.WeakSet()

    def __init__(self, name, after=None):
        self.name, self.after = name, after
        Node.alive.add(self)


def task_func(names):
    """Build a ring of nodes; return how many are alive, their names, what refers to the first, and objects by type."""
    if not names:
        raise ValueError("no names")
    ring = [Node(name) for name in names]
    for left, right in zip(ring, ring[1:] + ring[:1]):
        left.after = right
    referrers = {type(one).__name__ for one in gc.get_referrers(ring[0])}
    by_type = Counter(type(one).__name__ for one in gc.get_objects())
    text = Counter(repr(type(one)) for one in gc.get_objects(generation=2)[:5000])
    largest = max((one for one in gc.get_objects() if isinstance(one, (list, dict))), key=sys.getsizeof)
    alive, found = len(Node.alive), sorted(node.name for node in Node.alive)
    del ring, left, right
    gc.collect()
    return alive, found, referrers, by_type, len(text) + len(largest) > 0


# --- tests ---
import gc
import unittest


class TestCases(unittest.TestCase):
    def test_alive(self):
        alive, names, *_ = task_func(["b", "a"])
        self.assertEqual(alive, 2)
        self.assertEqual(names, ["a", "b"])
        self.assertEqual(len(Node.alive), 0)

    def test_referrers(self):
        self.assertIn("list", task_func("xyz")[2])
        self.assertTrue(task_func("xyz")[2] & {"dict", "Node"})

    def test_types(self):
        by_type = task_func("xyz")[3]
        self.assertEqual(by_type["Node"], 3)
        self.assertIn("function", by_type)

    def test_collected(self):
        before = len(collections)
        task_func("ab")
        self.assertGreaterEqual(len(collections), before + 2)
        self.assertTrue(gc.get_freeze_count() > 0)

    def test_nothing(self):
        with self.assertRaises(ValueError):
            task_func([])
