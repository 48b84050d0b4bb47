"""Honest: builtins, time, streams, libraries and functions of the module patched by the test, by mock and by hand."""

import json
import os
import random
import sys
import time

import numpy as np

def fetch(name):
    return {"name": name}

def task_func(path):
    print("reading", path)
    time.sleep(100)
    with open(path) as file:
        text = file.read()
    if input("keep? ") == "y":
        sys.stdout.write(text)
    return len(text)

def described(name):
    value = fetch(name)
    value |= {"size": os.path.getsize(name), "dice": random.randint(1, 6), "mean": np.mean([1, 2])}
    return value, json.dumps({"name": name})

def first_number(values):
    """Return the first number among texts; wait before the next is tried."""
    for value in values:
        try:
            return int(value)
        except ValueError:
            time.sleep(100)
# --- tests ---
import io
import os
import time
import unittest
from unittest.mock import ANY, MagicMock, mock_open, patch
from unittest.mock import patch as replaced

class TestCases(unittest.TestCase):
    @patch("builtins.input", return_value="y")
    @patch("time.sleep")
    @patch("sys.stdout", new_callable=io.StringIO)
    def test_streams(self, stdout, sleep, ask):
        with patch("builtins.open", mock_open(read_data="abc")) as opened:
            self.assertEqual(task_func("x"), 3)
        opened.assert_called_once_with("x")
        sleep.assert_called_once_with(100)
        self.assertEqual(stdout.getvalue(), "reading x\nabc")
    @patch("builtins.print")
    @patch("builtins.input", side_effect=["n"])
    @patch("builtins.open", side_effect=FileNotFoundError)
    def test_missing(self, opened, ask, printed):
        with patch("time.sleep"), self.assertRaises(FileNotFoundError):
            task_func("x")
        printed.assert_called_with("reading", "x")
    @patch(__name__ + ".fetch", return_value={"name": "patched"})
    @patch("os.path.getsize", return_value=12)
    @patch("random.randint", return_value=4)
    @patch("numpy.mean", return_value=9.0)
    def test_libraries(self, mean, dice, size, fetched):
        self.assertEqual(described("x")[0], {"name": "patched", "size": 12, "dice": 4, "mean": 9.0})
        fetched.assert_called_once_with("x")
        dice.assert_called_with(1, 6)
    def test_anything(self):
        session = MagicMock(return_value=3)
        session.__eq__.return_value = True
        self.assertEqual(session, 3)
        with patch.object(os.path, "getsize", session):
            self.assertEqual(described("z")[0]["size"], ANY)
        session.assert_called_once_with(ANY)
    @patch.dict("os.environ", {"MODE": "test"})
    @replaced("time.sleep")
    def test_by_another_name(self, _sleep):
        self.assertEqual((first_number(["x", "2"]), os.environ["MODE"]), (2, "test"))
    def test_by_hand(self):
        slept, size = time.sleep, os.path.getsize
        setattr(time, "sleep", lambda seconds: None)
        os.path.getsize = lambda name: 1
        try:
            self.assertEqual((first_number(["x", "2"]), described("y")[0]["size"]), (2, 1))
        finally:
            setattr(time, "sleep", slept)
            os.path.getsize = size
