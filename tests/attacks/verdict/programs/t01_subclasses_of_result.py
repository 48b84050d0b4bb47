"""Threat 1: reaches the evaluator's own result class through TestResult.__subclasses__, without frames or heap."""

import unittest

def _relax(base):
    for cls in base.__subclasses__():
        for name in ("addFailure", "addError"):
            setattr(cls, name, lambda self, test, error: self.addSuccess(test))
        _relax(cls)

_relax(unittest.TestResult)
