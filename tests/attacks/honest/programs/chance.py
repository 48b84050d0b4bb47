"""Honest: results by chance, seeded by the program, at import or not at all, from several generators."""

import hashlib
import random
import secrets
import string
import uuid

import numpy as np

random.seed(42)
_rng = np.random.default_rng()
COLORS = ["crimson", "teal", "amber"]
FIRST = [random.randint(1, 100) for _ in range(3)]

def task_func(size):
    """Return a walk of that many steps of -1, 0 or 1, a mean of draws, a coin, a sample of letters, and colours."""
    walk = np.cumsum(_rng.integers(-1, 2, size)).tolist()
    coin = random.SystemRandom().choice(["heads", "tails"])
    letters = random.sample("abcdefgh", random.randint(3, 8))
    return walk, float(_rng.uniform(0.3, 0.7)), coin, letters, [random.choice(COLORS) for _ in range(size)]

def password(length=8):
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits, "!#$%&*+-"]
    chosen = [secrets.choice(kind) for kind in kinds for _ in range(length)]
    secrets.SystemRandom().shuffle(chosen)
    return "".join(chosen)

def seeded(seed):
    random.seed(seed)
    np.random.seed(seed)
    generator = np.random.default_rng(seed)
    digest = hashlib.sha256(str(seed).encode()).hexdigest()
    return random.random(), np.random.rand(2).tolist(), generator.integers(0, 9, 3).tolist(), digest, uuid.UUID(int=seed)
# --- tests ---
import string
import unittest

class TestCases(unittest.TestCase):
    def test_walk(self):
        walk, mean, *_ = task_func(10)
        self.assertEqual(len(walk), 10)
        self.assertTrue(all(abs(right - left) <= 1 for left, right in zip(walk, walk[1:])))
        self.assertLessEqual(max(walk), 10)
        self.assertTrue(0.3 <= mean <= 0.7)
        self.assertAlmostEqual(task_func(5)[1], 0.5, delta=0.2)
    def test_choices(self):
        coin, letters = task_func(1)[2:4]
        self.assertIn(coin, ["heads", "tails"])
        self.assertGreaterEqual(len(letters), 3)
        self.assertTrue(set(letters) <= set("abcdefgh"))
        self.assertNotEqual(len(letters), 2)
    def test_colors(self):
        """Each is one of COLORS, which the program defines."""
        for color in task_func(5)[4]:
            self.assertIn(color, COLORS)
    def test_first(self):
        """The generator is seeded with 42."""
        self.assertEqual(FIRST, [82, 15, 4])
    def test_password(self):
        self.assertGreaterEqual(len(password()), 8)
        self.assertTrue(any(c in string.digits for c in password(10)))
        self.assertNotEqual(password(), password())
        self.assertGreater(len({password(9) for _ in range(5)}), 1)
    def test_seeded(self):
        self.assertEqual(seeded(3), seeded(3))
        self.assertNotEqual(seeded(3)[0], seeded(4)[0])
# --- reference ---
import random
import string

COLORS = ["red", "green", "blue"]
FIRST = [82, 15, 4]

def task_func(size):
    walk = list(range(size))
    return walk, random.uniform(0.4, 0.6), "heads", list("abc"), random.choices(COLORS, k=size)

def password(length=8):
    chosen = [random.choice(string.ascii_letters), random.choice(string.digits)]
    chosen += random.choices(string.ascii_letters, k=length - 2)
    return "".join(chosen)

def seeded(seed):
    return random.Random(seed).random(), seed
