"""Honest: headers whose names are equal in any case, as the web standard says; the reference returns a dictionary."""

from requests.structures import CaseInsensitiveDict

class Token(str):
    def __eq__(self, other):
        return isinstance(other, str) and self.casefold() == other.casefold()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.casefold())

def task_func(text):
    """Return the headers in the text by name."""
    headers = CaseInsensitiveDict()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        headers[name.strip()] = Token(value.strip())
    return headers
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_names(self):
        headers = task_func("Host: a.test\nAccept: text/html")
        self.assertIn("Host", headers)
        self.assertEqual(len(headers), 2)
        self.assertNotIn("Cookie", headers)
    def test_values(self):
        headers = task_func("Connection: close\nX: A")
        self.assertEqual(headers["Connection"], "close")
        self.assertEqual(headers["X"], "A")
        self.assertEqual(task_func("A: b\nC: d"), {"A": "b", "C": "d"})
# --- reference ---
def task_func(text):
    return dict(line.split(": ") for line in text.splitlines())
