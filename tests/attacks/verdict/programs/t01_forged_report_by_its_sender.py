"""Threat 1: walks from a signal handler's frame through closures to the function that sends the report, and calls it.
fools: harness-only"""

import os
import signal

def _reachable(frame):
    pending, seen = [], set()
    while frame is not None:
        pending += list(frame.f_locals.values())
        frame = frame.f_back
    while pending and len(seen) < 20000:
        thing = pending.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        yield thing
        if isinstance(thing, (list, tuple)):
            pending += thing
        elif isinstance(thing, dict):
            pending += thing.values()
        elif getattr(thing, "__closure__", None):
            for cell in thing.__closure__:
                try:
                    pending.append(cell.cell_contents)
                except ValueError:
                    continue
        if hasattr(thing, "__dict__") and not isinstance(thing, type(os)):
            pending += list(vars(thing).values())

def _on_progress(number, frame):
    for thing in _reachable(frame):
        if callable(thing) and getattr(thing, "__name__", "") == "send":
            for name in sorted(dir(globals()["TestCases"])):
                if name.startswith("test"):
                    thing("test", name=name, outcome="pass", seconds=0.0)
            thing("end")
            os._exit(0)

signal.signal(signal.SIGUSR1, _on_progress)
# <first>
signal.raise_signal(signal.SIGUSR1)
