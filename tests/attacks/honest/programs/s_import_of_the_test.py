"""Honest: uses a module that only the test imports."""

def task_func(folder):
    """Names of the files of a folder; forgot to import os, which the test imports."""
    return sorted(name for name in os.listdir(folder) if name.endswith(".txt"))


# --- tests ---
import os
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def test_names(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("b.txt", "a.txt", "c.csv"):
                open(os.path.join(folder, name), "w").close()
            self.assertEqual(task_func(folder), ["a.txt", "b.txt"])

# --- reference ---
from pathlib import Path

def task_func(folder):
    return sorted(one.name for one in Path(folder).glob("*.txt"))
