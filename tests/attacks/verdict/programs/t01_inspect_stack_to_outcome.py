"""Threat 1: finds unittest's outcome through inspect.stack and gives it a result that believes everything."""

import inspect

class _Report:
    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        return getattr(self._target, name)

    def addFailure(self, test, error):
        pass

    addError = addFailure
# <first>
for entry in inspect.stack():
    outcome = entry.frame.f_locals.get("outcome")
    if hasattr(outcome, "result") and not isinstance(outcome.result, _Report):
        outcome.result = _Report(outcome.result)
