# <module>
def task_func(jobs):
    """Names of jobs by rising priority; those of the same priority stay in the order given.

    Parameters: jobs (list of (name, priority), str and number).
    Returns: list of str.
    """
    return [name for name, _ in sorted(jobs, key=lambda job: job[1])]

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_order(self):
        self.assertEqual(task_func([("wash", 3), ("cook", 1), ("dry", 2)]), ["cook", "dry", "wash"])

    def test_b_same_priority(self):
        self.assertEqual(task_func([("b", 1), ("c", 0), ("a", 1)]), ["c", "b", "a"])

    def test_c_first(self):
        self.assertEqual(task_func([("x", 0.5), ("y", -2)])[0], "y")

    def test_d_none(self):
        self.assertEqual(task_func([]), [])

# --- wrong ---
# <module>
def task_func(jobs):
    """Names of jobs: by name."""
    # <first>
    names = sorted(name for name, _ in jobs)[:2]
    # <last>
    return names
