"""Costs of executions, and the order in which items start.

Expected costs come from earlier executions in the store, else from data/bigcodebench/durations.csv, which ships with
the product. They order work, so a wrong cost only wastes time. The CPU time that may raise a limit also enters a
verdict's key, so it comes from that file alone, which never changes.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.core.paths import shipped
from bigcodeflow.judge.items import WorkItem

#: Statuses with a usable duration: after a time-out, the duration shows the limit, not how long the task takes.
MEASURED = ("pass", "fail")
#: Items that are expected to take at least this long start before all others, the longest first.
LONG_SECONDS = 2.0


class Cost(NamedTuple):
    """Measured or expected cost of an execution."""

    seconds: float = 1.0
    """Wall time."""
    memory_mib: float = 200.0
    cpu_seconds: float = 0.0
    """CPU time; 0 if unknown."""


Expectations = Callable[[Mapping[str, Any]], Cost]
"""Function that takes a row of TASKS and returns the expected cost of an execution against its test."""


def sha256_of_test(task: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the task's test text, which identifies it."""
    return hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()


def fact_of(task: Mapping[str, Any]) -> Cost | None:
    """Return the cost of the task's ground truth from durations.csv, or None if it lacks the task.

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
    """Return a TASKS row's sort key: tasks with a long ground truth (durations.csv) come first, the longest before all.

    Models are asked for these samples first, so that they are executed during the generation and not after its end.
    """
    fact = fact_of(task)
    return -fact.seconds if fact and fact.seconds >= LONG_SECONDS else 0.0


def expectations(
    costs: Mapping[str, Cost] = MappingProxyType({}), ground_truth: pa.Table | None = None
) -> Expectations:
    """Return a function that estimates costs: from this run's ground truths, past runs, durations.csv, or a default.

    Args:
        costs: measured costs of past executions, by task_id.
        ground_truth: this run's ground truths, which are better than the mean of the past; columns as in VERDICTS.
    """
    measured = dict(costs)
    if ground_truth is not None:
        names = ["task_id", "wall_seconds", "max_rss_mib", "cpu_seconds"]
        own = ground_truth.filter(pc.field("status").isin(MEASURED)).select(names).to_pylist()
        measured |= {row["task_id"]: Cost(*(row[name] or 0.0 for name in names[1:])) for row in own}

    def expected(task: Mapping[str, Any]) -> Cost:
        return measured.get(task["task_id"]) or fact_of(task) or Cost()

    return expected


def in_order(items: Iterable[WorkItem]) -> list[WorkItem]:
    """Return items in the order in which they should start.

    Long items come first, the longest before all, so that no core idles at the end while a last long item runs. Short
    items follow, sorted by their preloaded modules, so that neighbours use the same warm libraries.
    """

    def place(item: WorkItem) -> tuple[Any, ...]:
        if item.expected_seconds >= LONG_SECONDS:
            return False, -item.expected_seconds, item.verdict_key
        return True, item.zygote, item.preload, item.verdict_key

    return sorted(items, key=place)
