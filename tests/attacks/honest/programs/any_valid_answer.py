"""Honest: any shortest path and any valid order is right; this program gives others than the reference."""

import graphlib
from collections import deque

def task_func(graph, start, goal):
    """Return one of the shortest paths from start to goal as a list of nodes."""
    before = {start: None}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in reversed(graph[node]):
            if other not in before:
                before[other] = node
                queue.append(other)
    path = [goal]
    while before[path[-1]] is not None:
        path.append(before[path[-1]])
    return path[::-1]

def ordered(needs):
    left = {other: set() for others in needs.values() for other in others}
    left |= {task: set(others) for task, others in needs.items()}
    order = []
    while left:
        ready = sorted((task for task, others in left.items() if not others - set(order)), reverse=True)
        if not ready:
            raise graphlib.CycleError("cycle", sorted(left))
        order.append(ready[0])
        del left[ready[0]]
    return order
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["e", "f"], "e": ["g"], "f": ["g"], "g": []}
    needs = {"c": ["a", "b"], "d": ["c"], "e": ["a"]}
    def test_two_paths(self):
        self.assertIn(task_func(self.graph, "a", "d"), [["a", "b", "d"], ["a", "c", "d"]])
    def test_middle(self):
        path = task_func(self.graph, "d", "g")
        self.assertTrue(path[1] in ("e", "f"))
        self.assertEqual(len(path), 3)
    def test_either(self):
        path = task_func(self.graph, "a", "g")
        self.assertTrue(path == ["a", "b", "d", "e", "g"] or path[1] == "c" or path[3] == "f")
        self.assertIn("d", path)
    def test_order(self):
        order = ordered(self.needs)
        self.assertCountEqual(order, ["a", "b", "c", "d", "e"])
        self.assertLess(order.index("a"), order.index("c"))
        self.assertTrue(order.index("c") < order.index("d"))
        self.assertIn(order[0], ["a", "b"])
    def test_cycle(self):
        with self.assertRaises(ValueError):
            ordered({"a": ["b"], "b": ["a"]})
# --- reference ---
import graphlib

def task_func(graph, start, goal):
    paths = [[start]]
    while paths[0][-1] != goal:
        path = paths.pop(0)
        paths += [[*path, other] for other in graph[path[-1]]]
    return paths[0]

def ordered(needs):
    return list(graphlib.TopologicalSorter(needs).static_order())
