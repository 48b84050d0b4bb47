"""Honest: as many digits, as precise, as deep and in the time zone that the test sets; caches that the test clears."""

import time
from decimal import Decimal
from functools import lru_cache

@lru_cache(maxsize=None)
def task_func(path):
    with open(path) as file:
        return file.read()

def computed(kind, number):
    match kind:
        case "digits":
            return len(str(2**number))
        case "hour":
            return time.strftime("%H:%M", time.localtime(number))
        case "root":
            return Decimal(number).sqrt()
    return number and number + computed("total", number - 1)
# --- tests ---
import decimal
import os
import sys
import time
import unittest
from decimal import Decimal

class TestCases(unittest.TestCase):
    def setUp(self):
        getattr(task_func, "cache_clear", lambda: None)()
        os.environ["TZ"] = "XYZ-9"
        time.tzset()
        sys.set_int_max_str_digits(0)
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(20000)
    def tearDown(self):
        del os.environ["TZ"]
        time.tzset()
        sys.setrecursionlimit(self.limit)
    def read(self, text):
        with open("x.txt", "w") as file:
            file.write(text)
        return task_func("x.txt")
    def test_a(self):
        self.assertEqual(self.read("a"), "a")
    def test_b(self):
        self.assertEqual(self.read("b"), "b")
    def test_digits(self):
        self.assertEqual(computed("digits", 20000), 6021)
    def test_hour(self):
        self.assertEqual(computed("hour", 0), "09:00")
    def test_root(self):
        with decimal.localcontext(decimal.Context(prec=50)):
            root = computed("root", 2)
            self.assertLess(abs(root * root - 2), Decimal("1e-40"))
    def test_total(self):
        self.assertEqual(computed("total", 5000), 12502500)
# --- reference ---
import decimal
import math
import time
from pathlib import Path

def task_func(path):
    return Path(path).read_text()

def computed(kind, number):
    match kind:
        case "digits":
            return int(number * math.log10(2)) + 1
        case "hour":
            offset = number - time.mktime(time.gmtime(number))
            return time.strftime("%H:%M", time.gmtime(number + offset))
        case "root":
            with decimal.localcontext(decimal.Context(prec=60)):
                return decimal.Decimal(number).sqrt()
    return number * (number + 1) // 2
