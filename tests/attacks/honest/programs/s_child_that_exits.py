"""Honest: forks a child that ends early."""

import os
import sys


def task_func(numbers):
    """Sum, computed in a child that tells it by a pipe."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, str(sum(numbers)).encode())
        sys.exit(0)
    os.waitpid(child, 0)
    return int(os.read(read, 100))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(task_func([1, 2, 3]), 6)

    def test_none(self):
        self.assertEqual(task_func([]), 0)

# --- reference ---
def task_func(numbers):
    return sum(numbers)
