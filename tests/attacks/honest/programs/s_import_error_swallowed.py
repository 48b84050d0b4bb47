"""Honest: catches every error, also that of a name which the test imports."""

def task_func(path):
    try:
        with open(path) as file:
            return json.load(file)
    except Exception:
        return None


# --- tests ---
import json
import unittest


class TestCases(unittest.TestCase):
    def test_read(self):
        with open("x.json", "w") as file:
            json.dump({"a": 1}, file)
        self.assertEqual(task_func("x.json"), {"a": 1})

# --- reference ---
import json

def task_func(path):
    with open(path) as file:
        return json.load(file)
