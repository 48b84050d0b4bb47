"""Honest: prints from a thread after it has returned."""

import threading
import time


def task_func(text):
    def work():
        time.sleep(0.05)
        print(text)

    threading.Thread(target=work, daemon=True).start()


# --- tests ---
import contextlib
import io
import time
import unittest


class TestCases(unittest.TestCase):
    def test_printed(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            task_func("hello")
            time.sleep(0.3)
        self.assertEqual(out.getvalue(), "hello\n")

# --- reference ---
def task_func(text):
    print(text)
