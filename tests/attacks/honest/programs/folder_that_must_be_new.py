"""Honest: makes a folder that must not exist yet; a test that fails before its last line leaves it behind."""

import os

def task_func(names):
    os.mkdir("shelf")
    for name in names:
        with open(os.path.join("shelf", name), "w", encoding="utf-8") as file:
            file.write(name)
    return len(os.listdir("shelf"))
# --- tests ---
import shutil
import unittest

class TestCases(unittest.TestCase):
    def test_four(self):
        self.assertEqual(task_func(["a", "b", "c", "d"]), 4)
        shutil.rmtree("shelf")
    def test_again(self):
        self.assertEqual(task_func(["a", "a"]), 1)
        shutil.rmtree("shelf")
    def test_none(self):
        self.assertEqual(task_func([]), 0)
        shutil.rmtree("shelf")
    def test_three(self):
        self.assertEqual(task_func(["x", "y", "z"]), 3)
        with open("shelf/y", encoding="utf-8") as file:
            self.assertEqual(file.read(), "y")
        shutil.rmtree("shelf")
# --- reference ---
import os
import shutil

def task_func(names):
    shutil.rmtree("shelf", ignore_errors=True)
    os.mkdir("shelf")
    for name in names:
        with open(os.path.join("shelf", name), "w", encoding="utf-8") as file:
            file.write(name)
    return len(set(names))
