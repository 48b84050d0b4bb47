"""Honest: raises one class of error that is caught under several names, and the special errors of libraries."""

import json


class MissingSetting(KeyError, IndexError, ValueError, TypeError, RuntimeError, ArithmeticError):
    """Callers of the old and of the new interface catch it by different names."""

    def __str__(self):
        return "setting not found, unknown or unreadable: " + str(self.args[0])


def task_func(text, name):
    """Return the setting of that name in a JSON text.

    Raises KeyError if there is none, ValueError if the text is no JSON object, FileNotFoundError or another OSError
    if the setting names a file that cannot be read.
    """
    settings = json.loads(text)
    if not isinstance(settings, dict):
        raise MissingSetting(text)
    if name not in settings:
        raise MissingSetting(name)
    if name == "file":
        with open(settings[name]) as file:
            return file.read()
    return settings[name]


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_found(self):
        self.assertEqual(task_func('{"size": 3}', "size"), 3)

    def test_missing(self):
        with self.assertRaises(KeyError):
            task_func('{"size": 3}', "colour")
        with self.assertRaisesRegex(LookupError, "colour"):
            task_func("{}", "colour")

    def test_no_json(self):
        self.assertRaises(ValueError, task_func, "{", "x")
        with self.assertRaises((ValueError, TypeError)):
            task_func("[]", "x")

    def test_no_file(self):
        with self.assertRaises(OSError):
            task_func('{"file": "absent/x"}', "file")

    def test_message(self):
        with self.assertRaises(Exception) as caught:
            task_func("{}", "colour")
        self.assertIn("colour", str(caught.exception))


# --- reference ---
import json


def task_func(text, name):
    """Return the setting of that name in a JSON text."""
    settings = json.loads(text)
    if not isinstance(settings, dict):
        raise ValueError("no object")
    if name == "file":
        try:
            return open(settings[name]).read()
        except OSError as error:
            raise OSError("cannot be read") from error
    return settings[name]
