"""Honest: random passwords, checked by their properties only; these are longer than they have to be."""

import secrets
import string


def task_func(length=8):
    """Return a random password of at least `length` characters with a letter, a digit and a punctuation mark."""
    if length < 3:
        raise ValueError("length must be at least 3")
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits, "!#$%&*+-"]
    chosen = [secrets.choice(kind) for kind in kinds for _ in range(length)]
    secrets.SystemRandom().shuffle(chosen)
    return "".join(chosen)


# --- tests ---
import string
import unittest


class TestCases(unittest.TestCase):
    def test_length(self):
        self.assertGreaterEqual(len(task_func()), 8)
        self.assertTrue(len(task_func(12)) >= 12)

    def test_kinds(self):
        password = task_func(10)
        self.assertTrue(any(c in string.digits for c in password))
        self.assertTrue(sum(c in string.ascii_letters for c in password) >= 1)
        self.assertRegex(password, r"[0-9]")

    def test_differs(self):
        self.assertNotEqual(task_func(), task_func())
        self.assertGreater(len({task_func(9) for _ in range(5)}), 1)

    def test_too_short(self):
        self.assertRaises(ValueError, task_func, 2)


# --- reference ---
import random
import string


def task_func(length=8):
    """Return a random password of at least `length` characters with a letter, a digit and a punctuation mark."""
    if length < 3:
        raise ValueError("length must be at least 3")
    chosen = [random.choice(string.ascii_letters), random.choice(string.digits), random.choice(string.punctuation)]
    chosen += random.choices(string.ascii_letters, k=length - 3)
    random.shuffle(chosen)
    return "".join(chosen)
