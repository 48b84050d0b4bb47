"""Honest: results that hold the present time, compared with the time of the test."""

import time
from datetime import datetime, timedelta, timezone


def task_func(days=0):
    """Return the time that many days from now: text, seconds since 1970, year, and nanoseconds of a clock."""
    then = datetime.now(timezone.utc) + timedelta(days=days)
    return {
        "text": then.strftime("%Y-%m-%d"),
        "seconds": then.timestamp(),
        "year": then.year,
        "clock": time.monotonic_ns(),
        "parts": time.gmtime(then.timestamp())[:4],
    }


# --- tests ---
import time
import unittest
from datetime import datetime, timedelta


class TestCases(unittest.TestCase):
    def test_seconds(self):
        self.assertAlmostEqual(task_func()["seconds"], time.time(), delta=2)

    def test_between(self):
        before = time.time()
        found = task_func()["seconds"]
        self.assertTrue(before <= found <= time.time())
        self.assertLessEqual(abs(found - datetime.now().timestamp()), 1)

    def test_tomorrow(self):
        self.assertEqual(task_func(1)["text"], (datetime.now() + timedelta(days=1)).strftime("%Y-%m-%d"))
        self.assertEqual(task_func()["year"], datetime.now().year)

    def test_clock(self):
        self.assertLess(task_func()["clock"], time.monotonic_ns())
        self.assertEqual(task_func()["parts"], time.gmtime()[:4])
