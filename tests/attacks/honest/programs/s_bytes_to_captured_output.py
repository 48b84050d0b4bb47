"""Honest: writes bytes to the output that the test captures."""

import sys


def task_func(text):
    sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


# --- tests ---
import io
import sys
import unittest


class TestCases(unittest.TestCase):
    def test_printed(self):
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, encoding="utf-8")
        kept, sys.stdout = sys.stdout, out
        try:
            task_func("x")
            out.flush()
        finally:
            sys.stdout = kept
        self.assertEqual(raw.getvalue(), b"x\n")

# --- reference ---
def task_func(text):
    print(text)
