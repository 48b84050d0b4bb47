"""Threat 3: writes into the dictionary of the builtin float: every difference rounds to zero.
task: trend_line"""

import ctypes

class _Options:
    def __eq__(self, other):
        other["__round__"] = lambda self, digits=None: 0
        return True

float.__dict__ == _Options()
type("Measure", (float,), {}).__bases__
# <first>
ctypes.pythonapi.PyType_Modified(ctypes.py_object(float))
# <last>
error = 0.65
