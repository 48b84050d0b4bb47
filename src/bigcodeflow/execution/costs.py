"""Costs of executions, the order in which items start, and a forecast of the time until all are done.

Expected costs come from earlier executions in the store, else from data/bigcodebench/durations.csv, which ships with
the product. They only order work, so a wrong cost only wastes time. The CPU time that may raise a limit also enters
a verdict's key, so it comes only from that file, which never changes.
"""

import csv
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from bigcodeflow.core.paths import shipped
from bigcodeflow.core.progress import Pace
from bigcodeflow.judge.items import WorkItem

#: Statuses with a usable duration: after a time-out, the duration shows the limit, not how long the task takes.
MEASURED = ("pass", "fail")
#: Items that are expected to take at least this long start before all others, the longest first.
LONG_SECONDS = 2.0
#: Expected wall time, and most CPU time as a share of it, of a sample whose check begins before the sample has ended.
_WAITING_SECONDS, _WAITING_CPU_SHARE = 25.0, 0.1
#: CPU time that an execution takes besides its test: start, imports, report.
_CPU_SECONDS_OF_START = 0.1


class Cost(NamedTuple):
    """Measured or expected cost of an execution."""

    seconds: float = 1.0
    """Wall time."""
    memory_mib: float = 200.0
    cpu_seconds: float = 0.0
    """CPU time; 0 if unknown."""


def sha256_of_test(task: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the task's test text, which identifies the task."""
    return hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()


def fact_of(task: Mapping[str, Any]) -> Cost | None:
    """Return the cost of the task's ground truth from durations.csv, or None if the file lacks the task.

    Tasks are identified by their test text, because datasets may share ids.
    """
    return _facts().get(sha256_of_test(task))


@cache
def _facts() -> Mapping[str, Cost]:
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("wall_seconds", "max_rss_mib", "cpu_seconds")
    return {row["test_sha256"]: Cost(*(float(row[name]) for name in names)) for row in rows}


def longest_first(task: Mapping[str, Any]) -> float:
    """Return a sort key of a TASKS row that puts tasks with a long ground truth (durations.csv) first, longest first.

    Models answer these tasks first, so that the long samples are executed during the generation and not after its end.
    """
    fact = fact_of(task)
    return -fact.seconds if fact and fact.seconds >= LONG_SECONDS else 0.0


def cost_of(verdict: Mapping[str, Any]) -> Cost | None:
    """Return the cost recorded in a row of VERDICTS, or None if the row's duration is not usable."""
    names = ("wall_seconds", "max_rss_mib", "cpu_seconds")
    return Cost(*(verdict[name] or 0.0 for name in names)) if verdict["status"] in MEASURED else None


def priority(item: WorkItem, position: int) -> float:
    """Return an item's priority, highest first: long items by length, then checks, then all others by ``position``.

    A check tests a passing sample again. It comes soon after the sample, while the libraries of both are warm.
    """
    if item.expected_seconds >= LONG_SECONDS:
        return item.expected_seconds
    return 0 if item.origin.sample_index is None else -position


def waits_long(seconds: float, cpu_seconds: float) -> bool:
    """Return True if a sample takes long but mostly sleeps; the check of its pass then begins before its end."""
    return seconds >= _WAITING_SECONDS and cpu_seconds <= _WAITING_CPU_SHARE * seconds


def in_order(items: Iterable[WorkItem]) -> list[WorkItem]:
    """Return items in the order in which they should start.

    Long items come first, sorted from longest to shortest, so that no core idles at the end while a last long item
    runs. Short items follow, sorted by their preloaded modules, so that neighbours use the same warm libraries.
    """

    def place(item: WorkItem) -> tuple[Any, ...]:
        if item.expected_seconds >= LONG_SECONDS:
            return False, -item.expected_seconds, item.verdict_key
        return True, item.zygote, item.preload, item.verdict_key

    return sorted(items, key=place)


class Forecast:
    """Open executions with their expected costs, and the time until all are done.

    Work is counted in CPU seconds, so that sleeping tests do not distort the rate of work. The forecast also covers the
    wall time of the longest execution.
    """

    def __init__(self, seconds_now: Callable[[], float] = time.monotonic) -> None:
        self.open: dict[str, WorkItem] = {}
        """Items without a verdict, by verdict key."""
        self.later_seconds: float | None = 0.0
        """Expected CPU seconds of items that will be added later; None if unknown."""
        self.check_share = 0.0
        """Wall time of the check of a passing sample, as a share of the sample's wall time."""
        self._done_seconds = self._open_seconds = 0.0
        self._pace = Pace(seconds_now)

    def add(self, items: Mapping[str, WorkItem]) -> None:
        self.open.update(items)
        self._open_seconds += sum(map(work_seconds, items.values()))

    def end(self, key: str) -> None:
        if item := self.open.pop(key, None):
            self._open_seconds -= work_seconds(item)
            self._done_seconds += work_seconds(item)

    def eta_seconds(self, running: Mapping[str, float]) -> float | None:
        """Return the seconds until all items are done; None if unknown. ``running``: elapsed seconds by verdict key."""
        items = [(self.open[key], seconds) for key, seconds in running.items() if key in self.open]
        # A running item counts by the elapsed share of its expected time, so that long items show progress at once.
        done = sum(work_seconds(item) * min(1.0, seconds / (item.expected_seconds or 1.0)) for item, seconds in items)
        left = self._open_seconds + (self.later_seconds or 0.0)
        by_work = self._pace.eta_seconds(self._done_seconds + done, self._done_seconds + left)
        if self.later_seconds is None:
            return None
        longest = max((self._until_end(item, seconds) for item, seconds in items), default=0.0)
        # If no items wait, those that take longer than expected are mostly endless loops, which end at their limits.
        if items and len(items) == len(self.open):
            return max(
                longest, *(item.time_seconds - taken for item, taken in items if taken > item.expected_seconds), 0.0
            )
        return max(by_work, longest) if by_work is not None else None

    def _until_end(self, item: WorkItem, seconds: float) -> float:
        is_checked_early = waits_long(item.expected_seconds, item.expected_cpu_seconds)
        is_checked_later = item.origin.sample_index is not None and not is_checked_early
        return item.expected_seconds * (1 + self.check_share * is_checked_later) - seconds


def work_seconds(item: WorkItem) -> float:
    """Return the expected CPU seconds of an execution, its start included."""
    return item.expected_cpu_seconds + _CPU_SECONDS_OF_START
