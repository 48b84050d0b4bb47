"""Data and locks for stages that may run at the same time, in one run or in several."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.progress import NO_STATUS, Progress, Status

if TYPE_CHECKING:
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
    """Rows of an input that is not finished yet, for a stage that starts before it; None while there are no new rows.
    When the iterable ends, the input is in the store."""
    workers: "Callable[[], Workers] | None" = None
    """Returns the workers that the run's stages share; None: the stage starts its own workers."""

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


#: For a stage that shares nothing.
ALONE = ConcurrentStages(threading.Event())


class StageLocks:
    """Locks for concurrent runs: at most one run asks its model and at most one executes at a time."""

    def __init__(self) -> None:
        asking, executing = threading.Lock(), threading.Lock()
        self._locks = {"generation": asking, "repair": asking, "ground_truth": executing, "execution": executing}
        self._stopped = threading.Event()

    @contextmanager
    def held(self, stage: str) -> Iterator[None]:
        """Hold the stage's lock, if it has one, in the block; raise StoppedError if `stop` was called."""
        with self._locks.get(stage, nullcontext()):
            self.check()
            yield

    def stop(self) -> None:
        """Stop the runs: a running stage ends when it next reports progress, a waiting one when its turn comes."""
        self._stopped.set()

    def check(self) -> None:
        """Raise StoppedError after `stop` was called."""
        if self._stopped.is_set():
            raise StoppedError("stopped: what it did so far is kept, run the same again")
