"""Honest: raises what a failed process left, with its output."""

import subprocess
import sys


def task_func(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


# --- tests ---
import subprocess
import unittest


class TestCases(unittest.TestCase):
    def test_fails(self):
        with self.assertRaises(subprocess.CalledProcessError) as context:
            task_func("import sys; print('bad', file=sys.stderr); sys.exit(3)")
        self.assertEqual(context.exception.returncode, 3)
        self.assertIn("bad", context.exception.stderr)

# --- reference ---
import subprocess
import sys


def task_func(code):
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, code, out, err)
    return out
