import itertools

import numpy as np


def task_func(edges, length):
    """
    Count the directed walks of exactly `length` edges between every pair of nodes of a graph. Repeated edges in the
    list count as parallel edges. Nodes are ordered by their sorted names.

    Parameters:
    - edges (list of tuple): Directed edges as (source name, target name) pairs of strings.
    - length (int): Number of edges of a walk. A walk of length 0 stays where it is.

    Returns:
    - tuple: The sorted list of node names and a numpy integer array whose entry (i, j) is the number of walks from
      node i to node j.

    Raises:
    - ValueError: If edges is empty or length is negative.

    Requirements:
    - itertools
    - numpy

    Example:
    >>> names, walks = task_func([("a", "b"), ("b", "a")], 2)
    >>> names, walks.tolist()
    (['a', 'b'], [[1, 0], [0, 1]])
    """
    if not edges or length < 0:
        raise ValueError("edges must not be empty and length must not be negative")
    names = sorted(set(itertools.chain.from_iterable(edges)))
    place = {name: position for position, name in enumerate(names)}
    adjacency = np.zeros((len(names), len(names)), dtype=np.int64)
    for source, target in edges:
        adjacency[place[source], place[target]] += 1
    return names, np.linalg.matrix_power(adjacency, length)


# --- tests ---
import unittest

import numpy as np


class TestCases(unittest.TestCase):
    def test_two_cycle(self):
        names, walks = task_func([("a", "b"), ("b", "a")], 2)
        self.assertEqual(names, ["a", "b"])
        self.assertEqual(walks.tolist(), [[1, 0], [0, 1]])

    def test_parallel_edges_multiply(self):
        _, walks = task_func([("x", "y"), ("x", "y"), ("y", "z")], 2)
        self.assertEqual(walks.tolist(), [[0, 0, 2], [0, 0, 0], [0, 0, 0]])

    def test_length_zero_is_identity(self):
        _, walks = task_func([("q", "p"), ("p", "r")], 0)
        self.assertTrue(np.array_equal(walks, np.eye(3)))

    def test_self_loop(self):
        names, walks = task_func([("n", "n")], 30)
        self.assertEqual((names, walks.tolist()), (["n"], [[1]]))

    def test_integers_are_returned(self):
        _, walks = task_func([("a", "b")], 1)
        self.assertTrue(np.issubdtype(walks.dtype, np.integer))

    def test_bad_input(self):
        with self.assertRaises(ValueError):
            task_func([], 1)
        with self.assertRaises(ValueError):
            task_func([("a", "b")], -1)
