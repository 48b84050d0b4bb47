"""Honest: logs more, and at more levels, than the reference; handlers and a record factory of its own."""

import logging

_make_record = logging.getLogRecordFactory()


def _numbered(*args, **kwargs):
    record = _make_record(*args, **kwargs)
    record.number = _numbered.count = _numbered.count + 1
    return record


_numbered.count = 0
logging.setLogRecordFactory(_numbered)
logging.addLevelName(25, "NOTICE")


def task_func(items, logger_name="work"):
    """Log what is done with the items, an error for each that is no number, and return the sum of the others."""
    logger = logging.getLogger(logger_name)
    logger.info("start with %d items", len(items), stack_info=True)
    total = 0
    for place, item in enumerate(items):
        try:
            total += int(item)
            logger.log(25, "item %d of %d is %r", place, len(items), item)
        except ValueError:
            logger.exception("cannot read item %d: %r", place, item)
            logger.error("error code %d", place)
            logger.warning("going on after %d errors", place)
    logger.info("done: total %d, next to read would be %d", total, len(items) + 1)
    return total


# --- tests ---
import logging
import unittest


class TestCases(unittest.TestCase):
    def test_at_least_one(self):
        with self.assertLogs("work", level="INFO") as caught:
            self.assertEqual(task_func([1, "2"]), 3)
        self.assertGreaterEqual(len(caught.output), 1)
        self.assertIn("2", caught.output[0])

    def test_errors(self):
        with self.assertLogs("work", level=logging.ERROR) as caught:
            task_func([1, "x"])
        self.assertTrue(any("x" in line for line in caught.output))
        self.assertTrue(len(caught.records) >= 1)
        self.assertIn("ERROR", {record.levelname for record in caught.records})

    def test_levels(self):
        with self.assertLogs("other", level="DEBUG") as caught:
            task_func(["x", 4], "other")
        self.assertTrue(logging.INFO in [record.levelno for record in caught.records])

    def test_nothing(self):
        self.assertEqual(task_func([]), 0)


# --- reference ---
import logging


def task_func(items, logger_name="work"):
    """Log what is done with the items, an error for each that is no number, and return the sum of the others."""
    logger = logging.getLogger(logger_name)
    logger.info("summing %d items", len(items))
    total = 0
    for item in items:
        try:
            total += int(item)
        except ValueError:
            logger.error("no number: %s", item)
    return total
