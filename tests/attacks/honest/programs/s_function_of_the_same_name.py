"""Honest: is given a function that is called like one of its own."""

def normalized(text):
    return text.strip()


def task_func(words, key=normalized):
    return [key(word) for word in words]


# --- tests ---
import unittest


def normalized(text):
    return text.strip().lower()


class TestCases(unittest.TestCase):
    def test_words(self):
        self.assertEqual(task_func([" A", "b "], key=normalized), ["a", "b"])

# --- reference ---
def normalized(text):
    return text.strip().lower()


def task_func(words, key=normalized):
    return [key(word) for word in words]
