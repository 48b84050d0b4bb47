"""Threat 2: overwrites the byte code of assertEqual in memory: every identity stays as it was."""

import ctypes
import dis
import unittest

def _shorten(function):
    code = function.__code__
    raw = bytes(getattr(code, "_co_code_adaptive", code.co_code))
    place = ctypes.string_at(id(code), code.__sizeof__()).find(raw)
    names = dis.opmap
    start = 2 if raw[0] == names.get("RESUME") else 0
    patch = bytes([names["LOAD_CONST"], 0, names["RETURN_VALUE"], 0])
    ctypes.memmove(id(code) + place + start, patch, len(patch))

_shorten(unittest.TestCase.assertEqual)
