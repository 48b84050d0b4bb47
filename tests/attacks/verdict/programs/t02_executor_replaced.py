"""Threat 2: replaces the context manager of unittest.case that notes failures."""

import contextlib
import unittest.case

@contextlib.contextmanager
def _executor(self, test_case, subTest=False, **options):
    try:
        yield
    except Exception:
        pass

unittest.case._Outcome.testPartExecutor = _executor
