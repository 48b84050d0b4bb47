"""Honest: prints by bytes, a logger, another process, a thread that goes on, standard error, or a reconfigured stream."""

import logging
import subprocess
import sys
import threading
import time

def task_func(text, way=""):
    """Print the text and return it with the line's end."""
    line = text + "\n"
    match way:
        case "bytes":
            sys.stdout.buffer.write(line.encode(sys.stdout.encoding))
            sys.stdout.buffer.flush()
        case "log":
            logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
            logging.info(text)
        case "process":
            subprocess.run([sys.executable, "-c", f"print({text!r})"])
        case "given":
            subprocess.run([sys.executable, "-c", f"print({text!r})"], stdout=sys.stdout)
        case "later":
            threading.Thread(target=lambda: (time.sleep(0.05), print(text)), daemon=True).start()
        case "error":
            print(text, file=sys.stderr)
        case _:
            sys.stdout.reconfigure(encoding="utf-8")
            print(text)
    return line
# --- tests ---
import contextlib
import io
import os
import sys
import tempfile
import time
import unittest

class TestCases(unittest.TestCase):
    def captured(self, *ways, seconds=0.0):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            for way in ways:
                task_func("x", way)
            end = time.monotonic() + seconds
            while not out.getvalue() and time.monotonic() < end: time.sleep(0.01)
        return out.getvalue()
    def test_bytes(self):
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(out):
            task_func("x", "bytes")
            out.flush()
        self.assertEqual(out.buffer.getvalue(), b"x\n")
    def test_log(self):
        self.assertEqual(self.captured("log", "log"), "x\nx\n")
    def test_later(self):
        self.assertEqual(self.captured("later", seconds=5), "x\n")
    def test_error(self):
        self.assertIn("x", self.captured("error"))
    def test_process(self):
        sys.stdout.flush()
        kept = os.dup(1)
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 1)
            try:
                task_func("x", "process")
                sys.stdout.flush()
            finally:
                os.dup2(kept, 1)
                os.close(kept)
            file.seek(0)
            self.assertEqual(file.read(), b"x\n")
    def test_returned(self):
        self.assertEqual(task_func("x", "given"), "x\n")
        self.assertEqual(task_func("x"), "x\n")
# --- reference ---
def task_func(text, way=""):
    print(text, flush=True)
    return text + "\n"
