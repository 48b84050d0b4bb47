"""Honest: writes bytes to standard output and gives it to another process."""

import subprocess
import sys


def task_func(text):
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding) + b"\n")
    sys.stdout.buffer.flush()
    done = subprocess.run([sys.executable, "-c", "print(1)"], stdout=sys.stdout)
    return done.returncode


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_code(self):
        self.assertEqual(task_func("x"), 0)

# --- reference ---
def task_func(text):
    print(text)
    return 0
