"""Honest: logs more, and at more levels, than the reference; handlers, a record factory, and warnings of its own."""

import io
import logging
import warnings

_make_record = logging.getLogRecordFactory()
_stream = io.StringIO()

def _numbered(*args, **kwargs):
    record = _make_record(*args, **kwargs)
    record.number = _numbered.count = _numbered.count + 1
    return record

_numbered.count = 0
logging.setLogRecordFactory(_numbered)
logging.addLevelName(25, "NOTICE")

def task_func(items, logger_name="work"):
    """Log what is done with the items, an error for each that is no number, warn, and return the sum of the others."""
    logger = logging.getLogger(logger_name)
    handler = logging.StreamHandler(_stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(message)s"))
    logger.addHandler(handler)
    logger.info("start with %d items", len(items), stack_info=True)
    total = 0
    for place, item in enumerate(items):
        try:
            total += int(item)
            logger.log(25, "item %d of %d is %r", place, len(items), item)
        except ValueError:
            logger.exception("cannot read item %d: %r", place, item)
            logger.warning("going on after %d errors", place)
    logger.removeHandler(handler)
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    return total
# --- tests ---
import logging
import unittest
import warnings

class TestCases(unittest.TestCase):
    def test_at_least_one(self):
        with self.assertWarns(DeprecationWarning), self.assertLogs("work", level="INFO") as caught:
            self.assertEqual(task_func([1, "2"]), 3)
        self.assertGreaterEqual(len(caught.output), 1)
        self.assertIn("2", caught.output[0])
    def test_errors(self):
        with warnings.catch_warnings(record=True) as warned, self.assertLogs("work", level=logging.ERROR) as caught:
            warnings.simplefilter("always")
            task_func([1, "x"])
        self.assertEqual(len(warned), 1)
        self.assertTrue(any("x" in line for line in caught.output))
        self.assertIn("ERROR", {record.levelname for record in caught.records})
    def test_nothing(self):
        self.assertEqual(task_func([]), 0)
# --- reference ---
import logging
import warnings

def task_func(items, logger_name="work"):
    logger = logging.getLogger(logger_name)
    logger.info("summing %d items", len(items))
    numbers = [item for item in items if str(item).isdigit()]
    for item in items:
        if item not in numbers:
            logger.error("no number: %s", item)
    warnings.warn("deprecated", DeprecationWarning)
    return sum(map(int, numbers))
