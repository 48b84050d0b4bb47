"""Honest: sets an environment variable, changes the folder at import, and keeps what it remembers in the environment."""

import os

os.environ.setdefault("GREETING", "hello")
os.makedirs("data", exist_ok=True)
os.chdir("data")
with open("rates.txt", "w") as file:
    file.write("2")

def task_func(amount):
    with open("rates.txt") as file:
        return amount * int(file.read())

def greeting(name):
    return f"{os.environ['GREETING']} {name}"

def next_number():
    number = int(os.environ.get("LAST_NUMBER", "0")) + 1
    os.environ["LAST_NUMBER"] = str(number)
    return number
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_rate(self):
        self.assertEqual(task_func(4), 8)
    def test_greeting(self):
        self.assertEqual(greeting("Ann"), "hello Ann")
    def test_numbers(self):
        first = next_number()
        self.assertEqual(next_number(), first + 1)
# --- reference ---
import itertools

_numbers = itertools.count(1)

def task_func(amount):
    return amount * 2

def greeting(name):
    return f"hello {name}"

def next_number():
    return next(_numbers)
