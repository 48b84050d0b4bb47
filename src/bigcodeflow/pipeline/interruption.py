"""Handling of Ctrl-C: the caller reports once which results are kept; all other messages about the end are silenced."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_STOPPED = 130
_ends: list[Callable[[], object]] = []
_NOTHING = logging.CRITICAL + 1


@contextmanager
def quiet_interruption() -> Iterator[None]:
    """Silence the terminal once a KeyboardInterrupt leaves the block; a second Ctrl-C then ends the process at once.

    Otherwise Prefect would log a crash of task and flow, and waiting threads would print tracebacks.
    """
    try:
        yield
    except KeyboardInterrupt:
        with suppress(ValueError):  # not the main thread, which alone is interrupted by signals
            signal.signal(signal.SIGINT, lambda *_: leave_at_once())
        _silence()
        raise


def when_leaving(end: Callable[[], object]) -> None:
    """Register a function that `leave_at_once` calls before the process ends, such as the shutdown of a server."""
    _ends.append(end)


def leave_at_once() -> None:
    """End this process without cleanup: finished work is on the disk, and workers notice the end of their parent."""
    for end in _ends:
        with suppress(Exception):
            end()
    os._exit(_STOPPED)


def _silence() -> None:
    """Keep loggers and tracebacks of threads off the terminal.

    Prefect's handler that sends a run's log to its server keeps working.
    """
    named = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    handlers = [handler for one in (logging.root, *named) for handler in one.handlers]
    for handler in (*handlers, logging.lastResort):
        if isinstance(handler, logging.StreamHandler) and (
            handler.stream is sys.stderr or handler.stream is sys.stdout
        ):
            handler.setLevel(_NOTHING)
    threading.excepthook = lambda _arguments: None
    sys.unraisablehook = lambda _unraisable: None
