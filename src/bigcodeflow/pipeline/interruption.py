"""Ctrl-C: who called says once what is kept; what ends because of it says nothing more on the terminal."""

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
    """Where a KeyboardInterrupt leaves the block, the terminal stays quiet from then on, and a second one ends at once.

    Prefect would log a crash of the task and of the flow, and threads that lose what they wait for their tracebacks.
    """
    try:
        yield
    except KeyboardInterrupt:
        with suppress(ValueError):  # not the main thread, which alone is interrupted by signals
            signal.signal(signal.SIGINT, lambda *_: leave_at_once())
        _silence()
        raise


def when_leaving(end: Callable[[], object]) -> None:
    """Have something called before the process ends at once, such as the end of a server of its own."""
    _ends.append(end)


def leave_at_once() -> None:
    """End without waiting for anything: what stands is on the disk, and workers notice the end of their parent."""
    for end in _ends:
        with suppress(Exception):
            end()
    os._exit(_STOPPED)


def _silence() -> None:
    """Write nothing of loggers to the terminal, and no traceback of a thread.

    Prefect's handler that sends a run's log to its server goes on.
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
