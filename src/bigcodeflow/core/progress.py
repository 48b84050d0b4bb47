"""Progress reports of a stage at work: the items under way, and the expected time until all are done."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

#: Maximum number of open items that a status lists: those that have been under way longest.
MOST_NAMED = 20
#: Rates cover the last minutes only: the longest items are sent first, so that work gets faster towards its end.
_WINDOW_SECONDS = 300.0
_SHORTEST_WINDOW_SECONDS = 5.0
_SECONDS_BETWEEN_POINTS = 1.0
_MINUTE, _HOUR = 60, 3600
#: From these limits on, a duration is shown in minutes, or in hours.
_SECONDS_IN_SECONDS, _SECONDS_IN_MINUTES = 120, 7200


class OpenItem(NamedTuple):
    """An execution that is under way."""

    task_id: str
    since: datetime
    limit_seconds: float
    """CPU time limit; time in which it waits for a core or is paused does not count."""
    variant: str = ""
    """Variant of the sample; empty for an execution that checks a pass."""
    sample_index: int | None = None

    def seconds(self, now: datetime) -> float:
        """Return the seconds since it started."""
        return max(0.0, (now - self.since).total_seconds())


class Status(NamedTuple):
    """State of a stage's work, apart from the number of finished units."""

    open_items: int = 0
    """Number of executions under way."""
    longest: Sequence[OpenItem] = ()
    """Executions that have been under way longest, the longest first; at most MOST_NAMED."""
    eta_seconds: float | None = None
    """Expected time until all is finished; None if the stage makes no estimate."""
    outcomes: Mapping[str, int] = MappingProxyType({})
    """Final verdicts of samples by failure kind, those of passes under ''; empty if the stage does not count them."""

    def in_words(self, now: datetime | None = None) -> str:
        """Describe the number of open items, and the longest with its limit; empty if nothing is known."""
        if not self.longest:
            return f"{self.open_items:,} open" if self.open_items else ""
        first = self.longest[0]
        seconds = first.seconds(now or datetime.now(UTC))
        return f"{self.open_items:,} open, longest {first.task_id}: {seconds:.0f} s (limit {first.limit_seconds:.0f} s)"


NO_STATUS = Status()


class Pace:
    """Estimator of the time until work is done, at the rate of the last minutes."""

    def __init__(self, seconds_now: Callable[[], float] = time.monotonic) -> None:
        self._seconds_now = seconds_now
        self._points: deque[tuple[float, float]] = deque()

    def eta_seconds(self, done: float, total: float) -> float | None:
        """Estimate the seconds until all is done; None if too little is known, or nothing was done recently."""
        now = self._seconds_now()
        if not self._points or now - self._points[-1][0] >= _SECONDS_BETWEEN_POINTS:
            self._points.append((now, done))
        while len(self._points) > 1 and self._points[1][0] <= now - _WINDOW_SECONDS:
            self._points.popleft()
        since, before = self._points[0]
        if now - since < _SHORTEST_WINDOW_SECONDS or done <= before:
            return None
        return max(0.0, total - done) * (now - since) / (done - before)


def duration_text(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours, by its length."""
    if seconds < _SECONDS_IN_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < _SECONDS_IN_MINUTES:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


class Progress(Protocol):
    """Callback with the number of finished units, the total, a short note, and the status of open items.

    A stage may call it any number of times.
    """

    def __call__(self, finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None: ...


class StageProgress:
    """A stage's latest report, in words for people."""

    def __init__(self, title: str, seconds_now: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self.finished, self.total, self.note, self.status = 0, 0, "", NO_STATUS
        self._pace = Pace(seconds_now)
        self._eta_seconds: float | None = None

    def update(self, finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
        """Record a report."""
        self.finished, self.total, self.note, self.status = finished, total, note, status
        self._eta_seconds = self._pace.eta_seconds(finished, total)

    @property
    def eta_seconds(self) -> float | None:
        """Expected seconds until all is done: the stage's own estimate, else by the rate of the last minutes."""
        return self._eta_seconds if self.status.eta_seconds is None else self.status.eta_seconds

    @property
    def remark(self) -> str:
        """Text that the numbers do not contain (note, open items, time left); empty if there is none."""
        eta = self.eta_seconds
        left = f"about {duration_text(eta)} left" if eta is not None and self.finished < self.total else ""
        return "; ".join(filter(None, (self.note, self.status.in_words(), left)))

    @property
    def line(self) -> str:
        """Whole report in one line."""
        counted = f"{self.finished:,} of {self.total:,}" if self.total else "under way"
        return f"{self.title}: {counted}" + (f" ({self.remark})" if self.remark else "")
