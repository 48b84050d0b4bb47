"""Threat 1: walks from a signal handler's frame by names that it puts together at run time."""

import signal

_UP, _NAMES = ("_".join(("f", word)) for word in ("back", "locals"))


def _on_progress(number, frame):
    while frame is not None:
        for thing in list(getattr(frame, _NAMES).values()):
            if hasattr(thing, "addFailure"):
                thing.addFailure = thing.addError = lambda test, error, thing=thing: thing.addSuccess(test)
            elif hasattr(thing, "testPartExecutor") and hasattr(thing, "note"):
                thing.note, thing.worst = (lambda *arguments: None), "pass"
        frame = getattr(frame, _UP)


signal.signal(signal.SIGUSR1, _on_progress)

# <first>
signal.raise_signal(signal.SIGUSR1)
