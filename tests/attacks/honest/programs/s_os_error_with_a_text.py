"""Honest: raises an OSError with words of its own."""

class ConfigMissing(FileNotFoundError):
    def __str__(self):
        return f"no configuration at {self.filename}"


def task_func(path):
    try:
        return open(path).read()
    except FileNotFoundError as error:
        raise ConfigMissing(error.errno, error.strerror, path) from error


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_missing(self):
        with self.assertRaisesRegex(OSError, "no configuration at"):
            task_func("nowhere.ini")

# --- reference ---
import os

def task_func(path):
    if not os.path.exists(path):
        raise FileNotFoundError(f"no configuration at {path}")
    return open(path).read()
