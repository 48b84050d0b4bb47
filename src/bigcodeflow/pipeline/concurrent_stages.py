"""Data that a stage shares with other stages of its run, which may run at the same time."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.progress import NO_STATUS, Progress, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from bigcodeflow.execution.workers import Workers


class StoppedError(BigCodeFlowError):
    """A stage ends because a stage that it depends on has failed; its finished work is kept."""


@dataclass(frozen=True, slots=True)
class ConcurrentStages:
    """Data that a stage shares with other stages of its run, which may run at the same time."""

    stopped: threading.Event
    """Set when the stages that produce its input have failed or were interrupted."""
    arriving: "Iterable[pa.Table | None]" = ()
    """As in `Work`."""
    workers: "Callable[[], Workers] | None" = None
    """As in `Work`."""

    def guarded(self, progress: Progress) -> Progress:
        """Wrap a progress callback: it raises StoppedError once the other stages have failed."""

        def report(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            self.check()
            progress(finished, total, note, status)

        return report

    def guarded_arriving(self) -> "Iterator[pa.Table | None]":
        """Yield the arriving rows; raise StoppedError, also at their end, once the other stages have failed."""
        for rows in self.arriving:
            self.check()
            yield rows
        self.check()

    def check(self) -> None:
        """Raise StoppedError if the other stages have failed."""
        if self.stopped.is_set():
            raise StoppedError("ended because no more answers come: what was executed is kept, run again")
