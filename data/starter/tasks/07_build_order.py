# hard
import heapq
from collections import Counter, defaultdict


def task_func(dependencies, priorities=None):
    """
    Find the order in which build targets must be made. A target is made after everything it depends on; among the
    targets that could be made next, the one of the highest priority goes first, and the alphabetically first among
    equals. Names that occur only as a dependency are targets too. Duplicate dependencies count once.

    Parameters:
    - dependencies (dict): Target names mapped to the list of the names they depend on.
    - priorities (dict, optional): Target names mapped to integers; a target without an entry has priority 0.

    Returns:
    - list of str: All targets in build order.

    Raises:
    - ValueError: If the dependencies contain a cycle. The message lists the targets that cannot be ordered, sorted
      and joined by ', ': all targets on a cycle and all that depend on one.

    Requirements:
    - heapq
    - collections

    Example:
    >>> task_func({"app": ["lib", "core"], "lib": ["core"]}, {"core": 1})
    ['core', 'lib', 'app']
    """
    priorities = priorities or {}
    waiting = Counter()
    users = defaultdict(list)
    for target, needed in dependencies.items():
        waiting[target] += 0
        for name in set(needed):
            waiting[name] += 0
            waiting[target] += 1
            users[name].append(target)
    ready = [(-priorities.get(name, 0), name) for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, name = heapq.heappop(ready)
        order.append(name)
        for user in users[name]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (-priorities.get(user, 0), user))
    if len(order) < len(waiting):
        stuck = sorted(set(waiting) - set(order))
        raise ValueError(", ".join(stuck))
    return order


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_chain(self):
        self.assertEqual(task_func({"app": ["lib", "core"], "lib": ["core"]}), ["core", "lib", "app"])

    def test_alphabet_breaks_ties(self):
        self.assertEqual(task_func({"d": ["c", "a", "b"]}), ["a", "b", "c", "d"])

    def test_priority_beats_alphabet_only_when_ready(self):
        order = task_func({"z": ["y"], "a": [], "b": []}, {"z": 9, "b": 5})
        self.assertEqual(order, ["b", "a", "y", "z"])

    def test_duplicates_count_once(self):
        self.assertEqual(task_func({"x": ["y", "y"]}), ["y", "x"])

    def test_cycle_names_everything_behind_it(self):
        with self.assertRaises(ValueError) as caught:
            task_func({"a": ["b"], "b": ["a"], "c": ["a"], "d": []})
        self.assertEqual(str(caught.exception), "a, b, c")

    def test_empty(self):
        self.assertEqual(task_func({}), [])

    def test_self_dependency(self):
        with self.assertRaises(ValueError):
            task_func({"a": ["a"]})
