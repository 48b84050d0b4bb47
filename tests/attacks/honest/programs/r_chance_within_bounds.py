"""Honest: results by chance without a seed, anywhere within the bounds that the test allows."""

import random

import numpy as np

_rng = np.random.default_rng()


def task_func(size):
    """Return a random walk of that many steps of -1, 0 or 1, a mean of draws, a coin and a random sample of letters."""
    if size < 1:
        raise ValueError("size must be positive")
    walk = np.cumsum(_rng.integers(-1, 2, size)).tolist()
    coin = random.SystemRandom().choice(["heads", "tails"])
    return {
        "walk": walk,
        "mean": float(_rng.uniform(0.3, 0.7)),
        "coin": coin,
        "letters": random.sample("abcdefgh", random.randint(3, 8)),
        "wins": random.randint(4, 7),
    }


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_walk(self):
        walk = task_func(10)["walk"]
        self.assertEqual(len(walk), 10)
        self.assertTrue(all(abs(right - left) <= 1 for left, right in zip(walk, walk[1:])))
        self.assertLessEqual(max(walk), 10)

    def test_mean(self):
        self.assertTrue(0.3 <= task_func(5)["mean"] <= 0.7)
        self.assertAlmostEqual(task_func(5)["mean"], 0.5, delta=0.2)

    def test_coin(self):
        self.assertIn(task_func(1)["coin"], ["heads", "tails"])
        self.assertIn(task_func(1)["wins"], (4, 5, 6, 7))

    def test_letters(self):
        letters = task_func(1)["letters"]
        self.assertGreaterEqual(len(letters), 3)
        self.assertTrue(set(letters) <= set("abcdefgh"))
        self.assertNotEqual(len(letters), 2)

    def test_size(self):
        with self.assertRaises(ValueError):
            task_func(0)
