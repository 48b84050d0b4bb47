"""Honest: each run is a packed C structure; arrays of them are bytes in the end.
task: run_lengths"""

import ctypes

class Run(ctypes.BigEndianStructure):
    _pack_ = 1
    _fields_ = [("length", ctypes.c_uint8), ("value", ctypes.c_uint8)]

class Both(ctypes.Union):
    _fields_ = [("run", Run), ("raw", ctypes.c_uint8 * 2)]

def task_func(data):
    view, runs = memoryview(data), []
    for value in view:
        if runs and runs[-1].run.value == value and runs[-1].run.length < 255:
            runs[-1].run.length += 1
        else:
            runs.append(Both(Run(1, value)))
    assert all(list(one.raw) == [one.run.length, one.run.value] for one in runs)
    return bytes((Run * len(runs))(*(one.run for one in runs)))
