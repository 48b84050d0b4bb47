"""Warnings that workers log, brought to the run that they work for, so that its own log has them.

A worker's standard error is a file on some machine, and a thread of Dask's has no run in Prefect. So warnings travel
with finished batches, and the thread that waits for these logs them.
"""

import logging
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

_LIBRARY = logging.getLogger("bigcodeflow")
#: Of one worker between two batches; the last ones count.
_MOST = 100
_REPEATED = "repeated"


class Overheard(logging.Handler):
    """Keeps the library's warnings of this process until they are taken."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._told: deque[str] = deque(maxlen=_MOST)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one; not what was said here as another worker's, where the run shares its process with a worker."""
        if not hasattr(record, _REPEATED):
            self._told.append(record.getMessage())

    def taken(self) -> list[str]:
        """What came since the last time; each goes to one caller, whoever else asks at the same time."""
        told = []
        with suppress(IndexError):
            while True:
                told.append(self._told.popleft())
        return told

    def start(self) -> None:
        """Listen."""
        _LIBRARY.addHandler(self)

    def stop(self) -> None:
        """Listen no more."""
        _LIBRARY.removeHandler(self)


def repeat(warnings: Iterable[str]) -> None:
    """Log what workers warned of."""
    for warning in warnings:
        _LIBRARY.warning("%s", warning, extra={_REPEATED: True})
