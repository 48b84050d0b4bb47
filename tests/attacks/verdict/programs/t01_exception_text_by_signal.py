"""Threat 1: raises an exception whose text, asked for by the reporter, signals itself and alters the report from the handler's frame.
uses: forgetful"""

import signal

def _on_progress(number, frame):
    while frame is not None:
        for thing in list(frame.f_locals.values()):
            if hasattr(thing, "addFailure"):
                thing.failures = thing.errors = _Forgetful()
            elif hasattr(thing, "testPartExecutor") and hasattr(thing, "note"):
                thing.worst = "pass"
        frame = frame.f_back

class WindowError(ArithmeticError):
    def __str__(self):
        signal.raise_signal(signal.SIGUSR1)
        return "window does not fit"

signal.signal(signal.SIGUSR1, _on_progress)
# <last>
raise WindowError
