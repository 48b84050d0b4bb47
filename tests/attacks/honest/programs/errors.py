"""Honest: errors that are caught under several names, with texts, bases and conversions of their own, and in groups."""

import argparse
import functools
import importlib
import os
import subprocess
import sys
from typing import Protocol

os.makedirs("own", exist_ok=True)
with open("own/shop_errors.py", "w") as file:
    file.write("class NoSuchThing(KeyError, ValueError):\n    pass\n")
sys.path.insert(0, os.path.abspath("own"))
shop_errors = importlib.import_module("shop_errors")

class MissingSetting(KeyError, IndexError, ValueError, TypeError, RuntimeError, ArithmeticError):
    def __str__(self):
        return "no such name: " + str(self.args[0])

class Coded(Protocol):
    code: int

class BadInput(Coded, ValueError):
    code = 4

class ConfigMissing(FileNotFoundError):
    def __str__(self):
        return f"no configuration at {self.filename}"

class ApiError(ConnectionError):
    def __init__(self, status, **details):
        self.status, self.details = status, details

    def __str__(self):
        return f"{self.status}: {self.details}"

    def __reduce__(self):
        return ApiError, (self.status,)

def retried(function):
    @functools.wraps(function)
    def call(*args):
        for attempt in range(2):
            try:
                return function(*args)
            except ApiError as error:
                last = error
        raise last.with_traceback(None) from None

    return call

@retried
def task_func(kind, given):
    """Return what is given, or raise an error of that kind."""
    match kind:
        case "argument":
            parser = argparse.ArgumentParser(exit_on_error=False)
            parser.add_argument("--number", type=int)
            return parser.parse_args(given).number
        case "group" if min(given) < 0:
            raise ExceptionGroup("invalid values", [ValueError(value) for value in given if value < 0])
        case "mixin":
            raise BadInput("negative")
        case "module":
            raise shop_errors.NoSuchThing(given)
        case "name":
            raise MissingSetting(given)
        case "path":
            try:
                return open(given).read()
            except FileNotFoundError as error:
                raise ConfigMissing(error.errno, error.strerror, given) from error
        case "process":
            return subprocess.run([sys.executable, "-c", given], check=True, capture_output=True, text=True).stdout
        case "status":
            raise ApiError(given, tries=2)
    return given
# --- tests ---
import argparse
import subprocess
import unittest

class TestCases(unittest.TestCase):
    def test_fine(self):
        self.assertEqual(task_func("argument", ["--number", "4"]), 4)
        self.assertEqual(task_func("group", [1, 2]), [1, 2])
    def test_argument(self):
        with self.assertRaises(argparse.ArgumentError):
            task_func("argument", ["--number", "x"])
    def test_group(self):
        with self.assertRaisesRegex(Exception, "invalid values"):
            task_func("group", [-1, -2])
    def test_mixin(self):
        self.assertRaises(ValueError, task_func, "mixin", -1)
    def test_module(self):
        self.assertRaises((ValueError, TypeError), task_func, "module", "a")
    def test_name(self):
        with self.assertRaises(LookupError) as context:
            task_func("name", "b")
        self.assertEqual(str(context.exception), "no such name: b")
    def test_path(self):
        with self.assertRaisesRegex(OSError, "no configuration at"):
            task_func("path", "nowhere.ini")
    def test_process(self):
        with self.assertRaises(subprocess.CalledProcessError) as context:
            task_func("process", "import sys; print('bad', file=sys.stderr); sys.exit(3)")
        self.assertEqual(context.exception.returncode, 3)
        self.assertIn("bad", context.exception.stderr)
    def test_status(self):
        with self.assertRaises(ConnectionError) as caught:
            task_func("status", 500)
        self.assertIn("500", str(caught.exception))
# --- reference ---
import argparse
import subprocess
import sys

def task_func(kind, given):
    match kind:
        case "argument":
            if not given[1].isdigit():
                raise argparse.ArgumentError(None, f"invalid int value: {given[1]}")
            return int(given[1])
        case "group" if min(given) < 0:
            raise ValueError("invalid values")
        case "mixin" | "module":
            raise ValueError(given)
        case "name":
            raise LookupError(f"no such name: {given}")
        case "path":
            raise FileNotFoundError(f"no configuration at {given}")
        case "process":
            process = subprocess.Popen([sys.executable, "-c", given], stderr=subprocess.PIPE, text=True)
            errors = process.communicate()[1]
            raise subprocess.CalledProcessError(process.returncode, given, "", errors)
        case "status":
            raise ConnectionError(given)
    return given
