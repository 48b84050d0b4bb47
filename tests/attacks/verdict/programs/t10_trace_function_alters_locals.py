"""Threat 10: a trace function replaces the result in the test's own variables while it returns from the function."""

import ctypes
import sys

def _measure(frame, event, argument):
    code = frame.f_code
    if event == "call":
        return _measure if code.co_name.startswith("test_") else None
    if event == "line" and "means" in frame.f_locals:
        frame.f_locals["means"] = type("list", (list,), {"__eq__": lambda self, other: True})()
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)
    return _measure

sys.settrace(_measure)
