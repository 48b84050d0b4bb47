"""Honest: functions of the standard library replaced when the module is loaded, for logs, retries and sorted JSON."""

import builtins
import functools
import json
import os
import pickle
import time

_open, _sleep, _dumps, _default, _print = open, time.sleep, json.dumps, json.JSONEncoder.default, print
opened, slept, printed = [], [], []


@functools.wraps(_open)
def logged_open(file, *args, **kwargs):
    opened.append(file)
    return _open(file, *args, **kwargs)


def default(encoder, thing):
    """Sets and things with a method to_json become JSON everywhere."""
    if isinstance(thing, (set, frozenset)):
        return sorted(thing)
    return thing.to_json() if hasattr(thing, "to_json") else _default(encoder, thing)


builtins.open = logged_open
builtins.print = lambda *things, **options: (printed.append(things), _print(*things, **options))[1]
json.JSONEncoder.default = default
json.dumps = functools.partial(_dumps, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
time.sleep = lambda seconds: slept.append(seconds)
os.write, _write = (lambda descriptor, data: _write(descriptor, data)), os.write
pickle.dumps = functools.partial(pickle.dumps, protocol=2)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def to_json(self):
        return {"y": self.y, "x": self.x}


def task_func(things, path):
    """Write the things as JSON with sorted keys to the path, wait a second, and return the text."""
    text = json.dumps(things)
    with open(path, "w") as file:
        file.write(text)
    print("written", path)
    os.write(1, b"done\n")
    time.sleep(1)
    return text


# --- tests ---
import json
import os
import pickle
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(tempfile.mkdtemp(), "x.json")

    def test_text(self):
        self.assertEqual(task_func({"b": 1, "a": {2}}, self.path), '{"a":[2],"b":1}')
        self.assertEqual(task_func([1, 2], self.path), json.dumps([1, 2]))

    def test_file(self):
        task_func({"p": Point(1, 2)}, self.path)
        with open(self.path) as file:
            self.assertEqual(json.load(file), {"p": {"x": 1, "y": 2}})
        self.assertIn(self.path, opened)

    def test_waited(self):
        task_func([], self.path)
        self.assertEqual(slept[-1], 1)
        self.assertIn("written", printed[-1])

    def test_others(self):
        self.assertEqual(pickle.loads(pickle.dumps([1])), [1])
        with self.assertRaises(TypeError):
            task_func([object()], self.path)
