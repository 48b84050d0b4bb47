"""Threat 2: overwrites the byte code of assertEqual by memmove, which no audit event tells of."""

import ctypes
import dis
import unittest

def _read(start, length):
    block = ctypes.create_string_buffer(length)
    ctypes.memmove(block, start, length)
    return block.raw

def _shorten(function):
    """Make a function short by the pattern of this one."""
    code = _shorten.__code__
    raw = bytes(getattr(code, "_co_code_adaptive", code.co_code))
    place = _read(id(code), code.__sizeof__()).find(raw[:8])
    column = _read(id(_shorten), 96).find(id(code).to_bytes(8, "little"))
    other = int.from_bytes(_read(id(function) + column, 8), "little")
    start = other + place + (2 if raw[0] == dis.opmap.get("RESUME") else 0)
    ctypes.memmove(start, bytes([dis.opmap["LOAD_CONST"], 0, dis.opmap["RETURN_VALUE"], 0]), 4)

_shorten(unittest.TestCase.assertEqual)
