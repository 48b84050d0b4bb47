"""Honest: asks for its own name and caller, counts lines by sys.settrace, calls C, where the test names these."""

import ctypes
import ctypes.util
import inspect
import sys

class Pair(ctypes.Structure):
    _fields_ = [("left", ctypes.c_int), ("right", ctypes.c_int)]

def task_func():
    return sys._getframe().f_code.co_name, inspect.currentframe().f_code.co_name, inspect.stack()[1].function

def counted_lines(function):
    lines = []

    def local(frame, event, argument):
        if event == "line":
            lines.append(frame.f_lineno)
        return local

    sys.settrace(lambda frame, event, argument: local)
    try:
        function()
    finally:
        sys.settrace(None)
    return len(lines)

def c_length(text):
    library = ctypes.CDLL(ctypes.util.find_library("c") or "libc.so.6")
    library.strlen.restype = ctypes.c_size_t
    buffer = ctypes.create_string_buffer(text)
    return library.strlen(buffer), ctypes.sizeof(Pair(1, 2)), Pair(1, 2).right, ctypes.string_at(buffer)
# --- tests ---
import ctypes
import sys
import unittest

class TestCases(unittest.TestCase):
    def test_names(self):
        """The names come from sys._getframe, inspect.currentframe and inspect.stack."""
        self.assertEqual(task_func(), ("task_func", "task_func", "test_names"))
    def test_lines(self):
        """Counts executed lines by sys.settrace."""

        def three():
            a = 1
            b = 2
            return a + b

        self.assertGreaterEqual(counted_lines(three), 3)
        self.assertIsNone(sys.gettrace())
    def test_length(self):
        # Uses ctypes: strlen of the C library.
        self.assertEqual(c_length(b"abc"), (3, ctypes.sizeof(ctypes.c_int) * 2, 2, b"abc"))
