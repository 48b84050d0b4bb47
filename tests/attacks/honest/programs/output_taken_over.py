"""Honest: takes over the output at import and keeps it: a tee in sys.stdout, descriptors moved, much text, odd text."""

import faulthandler
import io
import os
import sys
import tempfile

class Tee(io.TextIOBase):
    def __init__(self, *streams):
        self.streams, self.kept = streams, []

    def write(self, text):
        self.kept = (self.kept + [text])[-100:]
        for stream in self.streams:
            stream.write(text)
        return len(text)

    def flush(self):
        for stream in self.streams:
            stream.flush()

sys.stdout = Tee(sys.stdout, io.StringIO())
sys.stderr = open(os.devnull, "w")
sys.stdin = io.StringIO("from a file\n")
sys.displayhook = lambda thing: None
sys.excepthook = lambda *what: None
sys.unraisablehook = lambda what: None
faulthandler.enable(tempfile.TemporaryFile())

def task_func(function, *args):
    """Return what the function prints, also by its descriptors, and what it returns."""
    with tempfile.TemporaryFile(mode="w+b") as file:
        sys.stdout.flush()
        kept = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        before, sys.stdout = sys.stdout, os.fdopen(os.dup(1), "w")
        try:
            result = function(*args)
        finally:
            sys.stdout.close()
            sys.stdout = before
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)
        file.seek(0)
        return file.read().decode(errors="replace"), result

print("loaded: OK\nRan 5 tests in 0.000s\n\nFAILED (failures=5)\n" + '{"status": "fail"}\x00\x1b[0m\r' * 3)
# --- tests ---
import io
import os
import subprocess
import sys
import unittest

class TestCases(unittest.TestCase):
    def test_encodings(self):
        def encoded():
            before, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
            print("\u00e9", flush=True)
            raw, sys.stdout = sys.stdout.buffer.getvalue(), before
            return raw

        self.assertEqual(task_func(encoded), ("", b"\xe9\n"))
    def test_print(self):
        self.assertEqual(task_func(print, "hello"), ("hello\n", None))
    def test_descriptor(self):
        self.assertEqual(task_func(os.write, 2, b"raw"), ("raw", 3))
        self.assertIn("child", task_func(subprocess.call, ["echo", "child"])[0])
    def test_much(self):
        text, _ = task_func(lambda: print("x" * 2_000_000))
        self.assertEqual(len(text), 2_000_001)
        print("y" * 1_000_000)
    def test_tee(self):
        print("seen")
        self.assertIn("seen", sys.stdout.kept)
        self.assertEqual(sys.stdin.read(), "from a file\n")
