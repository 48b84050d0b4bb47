"""Honest: an order of tasks that respects what they need; this program gives another valid one than the reference."""

import graphlib


def task_func(needs):
    """Return the tasks so that each comes after those that it needs; ValueError if there is no such order."""
    order = []
    left = {task: set(others) for task, others in needs.items()}
    for others in list(left.values()):
        for other in others:
            left.setdefault(other, set())
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
    needs = {"c": ["a", "b"], "d": ["c"], "e": ["a"]}

    def test_all(self):
        self.assertCountEqual(task_func(self.needs), ["a", "b", "c", "d", "e"])
        self.assertEqual(set(task_func(self.needs)), set("abcde"))

    def test_before(self):
        order = task_func(self.needs)
        self.assertLess(order.index("a"), order.index("c"))
        self.assertTrue(order.index("c") < order.index("d"))
        self.assertGreater(order.index("e"), order.index("a"))

    def test_first(self):
        self.assertIn(task_func(self.needs)[0], ["a", "b"])
        self.assertTrue(task_func(self.needs)[-1] in "de")
        self.assertLessEqual(task_func(self.needs).index("b"), 2)

    def test_cycle(self):
        with self.assertRaises(ValueError):
            task_func({"a": ["b"], "b": ["a"]})


# --- reference ---
def task_func(needs):
    """Return the tasks so that each comes after those that it needs; ValueError if there is no such order."""
    order, open_tasks = [], []

    def visit(task):
        if task in order:
            return
        if task in open_tasks:
            raise ValueError("cycle at " + task)
        open_tasks.append(task)
        for other in needs.get(task, []):
            visit(other)
        order.append(task)

    for task in needs:
        visit(task)
    return order
