"""Threat 1: asks the C interface for the current frame, so that no audited function of Python is called.
uses: relax"""

import ctypes
# <first>
ctypes.pythonapi.PyEval_GetFrame.restype = ctypes.c_void_p
frame = ctypes.cast(ctypes.pythonapi.PyEval_GetFrame(), ctypes.py_object).value
_relax(frame)
