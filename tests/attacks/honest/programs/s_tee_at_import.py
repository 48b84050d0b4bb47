"""Honest: puts a copy of what is printed into a file."""

import sys


class Tee:
    def __init__(self, stream):
        self.stream, self.kept = stream, []

    def write(self, text):
        self.kept.append(text)
        return self.stream.write(text)

    def flush(self):
        self.stream.flush()


sys.stdout = Tee(sys.stdout)


def task_func(words):
    sys.stdout.kept.clear()
    print(*words)
    return "".join(sys.stdout.kept)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_text(self):
        self.assertEqual(task_func(["a", "b"]), "a b\n")

# --- reference ---
def task_func(words):
    text = " ".join(words)
    print(text)
    return text + "\n"
