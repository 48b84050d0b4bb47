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
    """Error that ends a stage because a concurrent stage failed or the runs were stopped; finished work is kept."""


class ArrivingTruths:
    """Verdicts of ground truths, readable as soon as each is final; any number of threads may iterate over them."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._ended = threading.Event()

    def put(self, row: dict[str, Any]) -> None:
        """Add a verdict, which must have a ``task_id``; readers must expect that the same verdict is added twice."""
        self._rows.append(row)

    def end(self) -> None:
        """End the iteration of all readers: no more verdicts come."""
        self._ended.set()

    def __iter__(self) -> "Iterator[list[dict[str, Any]] | None]":
        """Yield lists of new verdicts, or None while there are no new verdicts, until `end` is called."""
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
    """Event that is set when other stages of the run have failed or were interrupted."""
    arriving: "Iterable[pa.Table | None]" = ()
    """New rows of an input that another stage still produces, as tables; None while there are no new rows.
    When the iterable ends, the whole input is in the store."""
    workers: "Callable[[], Workers] | None" = None
    """Function that returns the workers that the run's stages share; None: the stage starts its own workers."""
    truths: ArrivingTruths | None = None
    """Verdicts of ground truths that are executed at the same time; None: all ground truths are in the store."""
    expected_solutions: int = 0
    """Total number of solutions that will arrive; 0: unknown."""

    def guarded_progress(self, progress: Progress) -> Progress:
        """Return a callback that calls ``progress``, but raises StoppedError if other stages have failed."""

        def report(finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
            self.check()
            progress(finished, total, note, status)

        return report

    def guarded(self, rows: "Iterable[T]") -> "Iterator[T]":
        """Yield the rows unchanged; call `check`, which may raise StoppedError, before each row and at the end."""
        for one in rows:
            self.check()
            yield one
        self.check()

    def check(self) -> None:
        """Raise StoppedError if other stages have failed."""
        if self.stopped.is_set():
            raise StoppedError("ended because another stage failed: run the same again, finished work is kept")


#: Value for a stage that shares no data with other stages.
ALONE = ConcurrentStages(threading.Event())


class _OwnedLock:
    """Lock that several threads of the same owner may hold at the same time."""

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
    """Locks for concurrent runs: at any time, at most one run asks its model, and at most one run executes samples."""

    def __init__(self) -> None:
        asking, executing = _OwnedLock(), _OwnedLock()
        self._locks = {"generation": asking, "repair": asking, "ground_truth": executing, "execution": executing}
        self._stopped = threading.Event()

    @contextmanager
    def held(self, stage: str, owner: object) -> Iterator[None]:
        """Hold the lock of ``stage`` (if this stage needs a lock) during the block; raise StoppedError after `stop`.

        ``owner`` is the run: stages of the same run may hold a lock at the same time.
        """
        lock = self._locks.get(stage)
        with lock.held(owner) if lock else nullcontext():
            self.check()
            yield

    def stop(self) -> None:
        """Stop all runs: a running stage ends at its next progress report, a waiting stage when it gets its lock."""
        self._stopped.set()

    def check(self) -> None:
        """Raise StoppedError if `stop` was called."""
        if self._stopped.is_set():
            raise StoppedError("the run was stopped: its finished work is kept, run the same again to continue")
