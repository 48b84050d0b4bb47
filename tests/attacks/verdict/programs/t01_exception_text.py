"""Threat 1: raises an exception whose text, asked for by the reporter, empties the reporter's lists.
uses: forgetful"""

import sys

class WindowError(ArithmeticError):
    def __str__(self):
        frame = sys._getframe()
        while frame is not None:
            for thing in list(frame.f_locals.values()):
                if hasattr(thing, "addFailure"):
                    thing.failures = thing.errors = _Forgetful()
                    thing._outcome = "pass"
            frame = frame.f_back
        return "window does not fit"
# <last>
raise WindowError
