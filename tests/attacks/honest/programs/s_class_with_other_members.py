"""Honest: defines a class of the task with other members than the task's own solution."""

class Node:
    def __init__(self, value, below=()):
        self._value, self._below = value, list(below)

    @property
    def value(self):
        return self._value

    @property
    def below(self):
        return self._below


def task_func(node):
    return node.value + sum(map(task_func, node.below))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(task_func(Node(1, [Node(2), Node(3)])), 6)

# --- reference ---
class Node:
    def __init__(self, value, below=()):
        self.value, self.below = value, below


def task_func(node):
    return node.value + sum(map(task_func, node.below))
