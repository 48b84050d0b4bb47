"""Data and locks for stages that may run at the same time, in one run or in several."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.progress import NO_STATUS, Progress, Status

if TYPE_CHECKING:
    import pyarrow as pa

    from bigcodeflow.execution.workers import Workers


T = TypeVar("T")


class StoppedError(BigCodeFlowError):
    """A stage ends because a stage that runs beside it has failed; its finished work is kept."""


class ArrivingTruths:
    """Verdicts of ground truths, handed over while they are executed; any number of readers."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._ended = threading.Event()

    def put(self, row: dict[str, Any]) -> None:
        """Add a verdict with its task_id; the same may come again."""
        self._rows.append(row)

    def end(self) -> None:
        """Tell the readers that the ground truths are in the store."""
        self._ended.set()

    def __iter__(self) -> "Iterator[list[dict[str, Any]] | None]":
        """Yield new verdicts, or None while there are none, until the end."""
        count, is_over = 0, False
        while not is_over:
            is_over = self._ended.is_set()
            rows = self._rows[count:]
            count += len(rows)
            yield rows or None


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
    truths: ArrivingTruths | None = None
    """Ground truths that are executed at the same time; None: they are in the store."""
    expected_solutions: int = 0
    """Number of solutions that will have arrived in the end; 0: unknown."""

    def guarded_progress(self, progress: Progress) -> Progress:
        """Wrap a progress callback: it raises StoppedError once the other stages have failed."""

        def report(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            self.check()
            progress(finished, total, note, status)

        return report

    def guarded(self, rows: "Iterable[T]") -> "Iterator[T]":
        """Yield the rows; raise StoppedError, also at their end, once the other stages have failed."""
        for one in rows:
            self.check()
            yield one
        self.check()

    def check(self) -> None:
        """Raise StoppedError if the other stages have failed."""
        if self.stopped.is_set():
            raise StoppedError("ended because a stage beside it failed: what was executed is kept, run again")


#: For a stage that shares nothing.
ALONE = ConcurrentStages(threading.Event())


class _OwnedLock:
    """Lock that several threads of one owner may hold at the same time."""

    def __init__(self) -> None:
        self._free, self._count = threading.Condition(), 0
        self._owner: object = None

    @contextmanager
    def held(self, owner: object) -> Iterator[None]:
        with self._free:
            self._free.wait_for(lambda: self._owner is None or self._owner is owner)
            self._owner, self._count = owner, self._count + 1
        try:
            yield
        finally:
            with self._free:
                self._count -= 1
                if not self._count:
                    self._owner = None
                    self._free.notify_all()


class StageLocks:
    """Locks for concurrent runs: at most one run asks its model and at most one executes at a time."""

    def __init__(self) -> None:
        asking, executing = _OwnedLock(), _OwnedLock()
        self._locks = {"generation": asking, "repair": asking, "ground_truth": executing, "execution": executing}
        self._stopped = threading.Event()

    @contextmanager
    def held(self, stage: str, owner: object) -> Iterator[None]:
        """Hold the stage's lock, if it has one, in the block; raise StoppedError if `stop` was called.

        Stages of the same ``owner``, a run, may hold a lock at the same time.
        """
        lock = self._locks.get(stage)
        with lock.held(owner) if lock else nullcontext():
            self.check()
            yield

    def stop(self) -> None:
        """Stop the runs: a running stage ends when it next reports progress, a waiting one when its turn comes."""
        self._stopped.set()

    def check(self) -> None:
        """Raise StoppedError after `stop` was called."""
        if self._stopped.is_set():
            raise StoppedError("stopped: what it did so far is kept, run the same again")
