from itertools import groupby
# <module>
def task_func(data):
    """Encode bytes by their runs: for each run its length and its byte; runs longer than 255 are split.

    Parameters: data (bytes).
    Returns: an object of bytes: bytes or what equals it.
    Raises: TypeError for a str.
    """
    if isinstance(data, str):
        raise TypeError("bytes are needed")
    encoded = bytearray()
    for value, run in groupby(data):
        length = len(list(run))
        while length > 0:
            encoded += bytes([min(length, 255), value])
            length -= 255
    # <last>
    return bytes(encoded)

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_runs(self):
        self.assertEqual(task_func(b"aaab"), b"\x03a\x01b")

    def test_b_long_run(self):
        encoded = task_func(b"x" * 300)
        self.assertEqual(encoded, b"\xffx\x2dx")
        self.assertEqual(len(encoded), 4)

    def test_c_first_byte(self):
        self.assertEqual(bytes(task_func(b"\x00\x00\x07"))[0], 2)

    def test_d_empty(self):
        self.assertEqual(len(task_func(b"")), 0)

    def test_e_text(self):
        with self.assertRaises(TypeError):
            task_func("aab")

# --- wrong ---
# <module>
def task_func(data):
    """Encode bytes: each by itself."""
    # <first>
    encoded = bytes(part for value in bytes(data, "ascii") if isinstance(data, str) for part in (1, value))
    # <last>
    return encoded
