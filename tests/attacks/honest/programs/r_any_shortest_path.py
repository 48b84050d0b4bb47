"""Honest: any of the shortest paths is right; this program finds another one than the reference does."""

from collections import deque


def task_func(graph, start, goal):
    """Return one of the shortest paths from start to goal as a list of nodes."""
    if start not in graph:
        raise KeyError(start)
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


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["e", "f"], "e": ["g"], "f": ["g"], "g": []}

    def test_two_answers(self):
        self.assertIn(task_func(self.graph, "a", "d"), [["a", "b", "d"], ["a", "c", "d"]])

    def test_middle(self):
        path = task_func(self.graph, "d", "g")
        self.assertTrue(path[1] in ("e", "f"))
        self.assertEqual(len(path), 3)

    def test_either(self):
        path = task_func(self.graph, "a", "g")
        self.assertTrue(path == ["a", "b", "d", "e", "g"] or path[1] == "c" or path[3] == "f")
        self.assertIn("d", path)

    def test_unknown_start(self):
        with self.assertRaises(KeyError):
            task_func(self.graph, "z", "a")


# --- reference ---
from collections import deque


def task_func(graph, start, goal):
    """Return one of the shortest paths from start to goal as a list of nodes."""
    queue = deque([[start]])
    seen = {start}
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        for other in graph[path[-1]]:
            if other not in seen:
                seen.add(other)
                queue.append(path + [other])
    return None
