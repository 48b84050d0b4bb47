"""What executions are expected to take, and the batches that they are packed into.

Expectations come from the store's own past, else from shipped facts. They order and pack work, so a wrong one costs
time and nothing else. The one number that also enters a verdict's key, the CPU time that may raise a limit, comes from
the shipped facts alone, where it never changes. Long items run first and alone, short ones together, so that no core
waits for a last long one.
"""

import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.core.paths import shipped
from bigcodeflow.execution.items import WorkItem

_FACTS = "data/bigcodebench/durations.csv"
_COST_COLUMNS = ["task_id", "wall_seconds", "max_rss_mib"]
#: A ground truth that ran into a limit says how long the limit is, not how long the task takes.
MEASURED = ("pass", "fail")
#: Items from here on are long: each is a batch of its own, as far as there is room, so that it holds up nothing else.
LONG_SECONDS = 2.0
#: What the scheduler is given at most, at a millisecond or so a future.
MOST_BATCHES = 2_000

_MOST_SINGLES = 1_000
_ITEMS_PER_BATCH = 16
_SECONDS_PER_BATCH = 6.0
#: Batches to aim for per slot, so that the last ones are small against the whole.
_BATCHES_PER_SLOT = 6
# Packing n items of s seconds into batches of at most n/450 items or s/250 seconds makes no more than 951 batches: a
# batch is closed for its number of items 450 times at most, for its seconds 500 times (each such batch and the next
# one take more than s/250 together).
_SHARES_OF_ITEMS = 450
_SHARES_OF_SECONDS = 250


class Cost(NamedTuple):
    """What an execution takes, or is expected to take."""

    seconds: float = 1.0
    memory_mib: float = 200.0


class Fact(NamedTuple):
    """A ground truth's measured cost, as it ships."""

    cost: Cost
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Expectations:
    """Costs by task_id, as far as verdicts show them; the shipped facts and a guess answer for the rest."""

    measured: Mapping[str, Cost]

    def of(self, task: Mapping[str, Any]) -> Cost:
        """The cost to expect of an execution against the task's test."""
        fact = fact_of(task)
        return self.measured.get(task["task_id"]) or (fact.cost if fact else Cost())


def fact_of(task: Mapping[str, Any]) -> Fact | None:
    """What ships of the task, found by the text of its test, so that another dataset's task of that id gets nothing."""
    return _facts().get(sha256_of_test(task))


def sha256_of_test(task: Mapping[str, Any]) -> str:
    """Identity of the task's test text."""
    return hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()


def expectations(
    costs: Mapping[str, Cost] = MappingProxyType({}), ground_truth: pa.Table | None = None
) -> Expectations:
    """What verdicts show of the cost of tasks.

    Args:
        costs: what executions of a task have taken so far, by task_id.
        ground_truth: this run's ground truths, which say more than the mean; its columns as in VERDICTS.
    """
    measured = dict(costs)
    if ground_truth is not None:
        own = ground_truth.filter(pc.field("status").isin(MEASURED)).select(_COST_COLUMNS).to_pylist()
        measured |= {row["task_id"]: Cost(row["wall_seconds"], row["max_rss_mib"]) for row in own}
    return Expectations(MappingProxyType(measured))


@cache
def _facts() -> Mapping[str, Fact]:
    with shipped(_FACTS).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    costs = (Cost(float(row["wall_seconds"]), float(row["max_rss_mib"])) for row in rows)
    return {row["test_sha256"]: Fact(cost, float(row["cpu_seconds"])) for row, cost in zip(rows, costs, strict=True)}


@dataclass(frozen=True, slots=True)
class Batch:
    """Items that one slot executes one after the other."""

    name: str
    """Derived from the items' keys: the same items make the same batch in a resumed run."""
    items: tuple[WorkItem, ...]
    expected_seconds: float


def plan_batches(items: Sequence[WorkItem], slots: int, *, alone: bool = False) -> list[Batch]:
    """Batches in the order in which they should start, never more than MOST_BATCHES unless each item is to be alone.

    Long items come first, the longest before all. Short ones follow by what they preload, so that neighbours find the
    same libraries warm.

    Args:
        alone: make a batch of each, so that its verdict comes back as soon as it stands.
    """
    long = [item for item in items if item.expected_seconds >= LONG_SECONDS]
    short = [item for item in items if item.expected_seconds < LONG_SECONDS]
    long.sort(key=lambda item: (-item.expected_seconds, item.verdict_key))
    short.sort(key=lambda item: (item.zygote, item.preload, item.verdict_key))
    if alone:
        return [_batch([item]) for item in (*long, *short)]
    together = max(1, min(_ITEMS_PER_BATCH, len(short) // (slots * _BATCHES_PER_SLOT)))
    singles = [_batch([item]) for item in long[:_MOST_SINGLES]]
    return singles + _packed([*long[_MOST_SINGLES:], *short], together)


def _packed(items: Sequence[WorkItem], most_items: int) -> list[Batch]:
    """Consecutive items in batches as small as the number of batches allows."""
    most_items = max(most_items, math.ceil(len(items) / _SHARES_OF_ITEMS))
    most_seconds = max(_SECONDS_PER_BATCH, sum(item.expected_seconds for item in items) / _SHARES_OF_SECONDS)
    packed: list[list[WorkItem]] = []
    seconds = 0.0
    for item in items:
        if not packed or len(packed[-1]) >= most_items or seconds + item.expected_seconds > most_seconds:
            packed.append([])
            seconds = 0.0
        packed[-1].append(item)
        seconds += item.expected_seconds
    return list(map(_batch, packed))


def _batch(items: list[WorkItem]) -> Batch:
    name = hashlib.sha256("".join(item.verdict_key for item in items).encode()).hexdigest()[:24]
    return Batch(name=name, items=tuple(items), expected_seconds=sum(item.expected_seconds for item in items))
