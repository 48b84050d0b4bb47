"""Threat 1: replaces traceback formatting, which the reporter calls, by one that alters the report.
uses: forgetful"""

import sys
import traceback

class _Format(traceback.TracebackException):
    def __init__(self, *args, **kwargs):
        frame = sys._getframe()
        while frame is not None:
            for thing in list(frame.f_locals.values()):
                if hasattr(thing, "addFailure"):
                    thing.failures = thing.errors = _Forgetful()
                    thing._outcome = "pass"
            frame = frame.f_back
        super().__init__(*args, **kwargs)

traceback.TracebackException = _Format
