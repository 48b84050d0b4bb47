"""Honest: prints by another process into a descriptor that the test has replaced."""

import subprocess
import sys


def task_func(text):
    return subprocess.run([sys.executable, "-c", f"print({text!r})"]).returncode


# --- tests ---
import os
import sys
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def test_printed(self):
        sys.stdout.flush()
        kept = os.dup(1)
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 1)
            try:
                code = task_func("hello")
                sys.stdout.flush()
            finally:
                os.dup2(kept, 1)
                os.close(kept)
            file.seek(0)
            self.assertEqual((code, file.read()), (0, b"hello\n"))

# --- reference ---
def task_func(text):
    print(text)
    return 0
