"""Honest: draws from the shared generator of `random`, where the reference has one of its own."""

import random

def task_func(size, seed=None):
    """Return `size` different numbers below 1,000 in random order; the same ones for the same seed."""
    if seed is not None:
        random.seed(seed)
    numbers = list(range(1000))
    random.shuffle(numbers)
    return numbers[:size]

def position(numbers, number):
    """Return where the number stands, or -1."""
    return numbers.index(number) if number in numbers else -1
# --- tests ---
import random
import unittest

class TestCases(unittest.TestCase):
    def test_position_of_a_random_element(self):
        random.seed(5)
        numbers = task_func(50)
        chosen = random.randrange(50)
        self.assertEqual(position(numbers, numbers[chosen]), chosen)
    def test_random_size(self):
        task_func(3, seed=1)
        size = random.randint(1, 400)
        self.assertEqual(len(task_func(size)), size)
    def test_repeats(self):
        self.assertEqual(task_func(5, seed=3), task_func(5, seed=3))
        self.assertNotEqual(task_func(5, seed=3), task_func(5, seed=4))
# --- reference ---
import random

def task_func(size, seed=None):
    return random.Random(seed).sample(range(1000), size)

def position(numbers, number):
    return next((place for place, one in enumerate(numbers) if one == number), -1)
