"""Honest: returns what is no plain data to a test that collects errors."""

from collections import UserDict


def task_func(text):
    return UserDict(part.split("=") for part in text.split(";"))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_no_errors(self):
        errors = []
        for text in ("a=1", "a=1;b=2"):
            try:
                self.assertEqual(task_func(text)["a"], "1")
            except Exception as error:
                errors.append(repr(error))
        self.assertEqual(errors, [])

# --- reference ---
def task_func(text):
    return dict(part.split("=") for part in text.split(";"))
