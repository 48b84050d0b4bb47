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
    """Limit of the execution's CPU time; waiting for a core and pauses do not count."""
    variant: str = ""
    """Variant of the sample; empty for an execution that checks a pass."""
    sample_index: int | None = None

    def seconds(self, now: datetime) -> float:
        """Return the seconds from the start of the execution until ``now``."""
        return max(0.0, (now - self.since).total_seconds())


class Status(NamedTuple):
    """State of a stage's work, which is reported together with the number of finished units (such as samples)."""

    open_items: int = 0
    """Number of executions under way."""
    longest: Sequence[OpenItem] = ()
    """Executions that have been under way longest, the longest first; at most MOST_NAMED."""
    eta_seconds: float | None = None
    """Expected seconds until the stage is finished; None if the stage makes no estimate."""
    outcomes: Mapping[str, int] = MappingProxyType({})
    """Numbers of judged samples by failure kind, passes under ''; empty if the stage does not count them."""

    def in_words(self, now: datetime | None = None) -> str:
        """Return a text with the number of items under way and the longest-running item; empty if there is none."""
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
        """Estimate the seconds until ``done`` reaches ``total``; None in the first seconds and without progress."""
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
    """Format a duration in a fitting unit, such as '95 s', '12 min' or '3.5 h'."""
    if seconds < _SECONDS_IN_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < _SECONDS_IN_MINUTES:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


class Progress(Protocol):
    """Callback with the number of finished units (such as samples), their total, a short note, and a `Status`.

    A stage may call this function any number of times.
    """

    def __call__(self, finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None: ...


class StageProgress:
    """Latest progress report of a stage, with properties that put it into words."""

    def __init__(self, title: str, seconds_now: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self.finished, self.total, self.note, self.status = 0, 0, "", NO_STATUS
        self._pace = Pace(seconds_now)
        self._eta_seconds: float | None = None

    def update(self, finished: int, total: int, note: str = "", status: Status = NO_STATUS) -> None:
        """Record a progress report, which replaces the former report."""
        self.finished, self.total, self.note, self.status = finished, total, note, status
        self._eta_seconds = self._pace.eta_seconds(finished, total)

    @property
    def eta_seconds(self) -> float | None:
        """Expected seconds until the stage ends: the stage's own estimate, else an estimate from the recent rate."""
        return self._eta_seconds if self.status.eta_seconds is None else self.status.eta_seconds

    @property
    def remark(self) -> str:
        """Note, open items and expected time left, as text; empty if nothing is known."""
        eta = self.eta_seconds
        left = f"about {duration_text(eta)} left" if eta is not None and self.finished < self.total else ""
        return "; ".join(filter(None, (self.note, self.status.in_words(), left)))

    @property
    def line(self) -> str:
        """Report in one line: title, number of finished units, and remark."""
        counted = f"{self.finished:,} of {self.total:,}" if self.total else "under way"
        return f"{self.title}: {counted}" + (f" ({self.remark})" if self.remark else "")
