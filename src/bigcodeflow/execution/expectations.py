"""What an execution is expected to take, known before anything ran: the store's own past, else shipped facts.

Expectations order and pack work, so a wrong one costs time and nothing else. The one number that also enters a
verdict's key, the CPU time that may raise a limit, comes from the shipped facts alone, where it never changes.
"""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import VERDICTS

_FACTS = "data/bigcodebench/durations.csv"
_COLUMNS = ["task_id", "wall_seconds", "max_rss_mib"]
#: A ground truth that ran into a limit says how long the limit is, not how long the task takes.
MEASURED = ("pass", "fail")


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
    """Costs by task_id, as far as verdicts tell them; the shipped facts and a guess answer for the rest."""

    measured: Mapping[str, Cost]

    def of(self, task: Mapping[str, Any]) -> Cost:
        """The cost to expect of an execution against the task's test."""
        told = self.measured.get(task["task_id"])
        if told is None:
            fact = fact_of(task)
            told = fact.cost if fact else Cost()
        return told


def fact_of(task: Mapping[str, Any]) -> Fact | None:
    """What ships of the task, found by the text of its test, so that another dataset's task of that id gets nothing."""
    return _facts().get(sha256_of_test(task))


def sha256_of_test(task: Mapping[str, Any]) -> str:
    """Identity of the task's test text."""
    return hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()


def expectations(known: Sequence[Path], ground_truth: pa.Table | None = None) -> Expectations:
    """What verdicts tell of the cost of tasks.

    Args:
        known: Parquet files of finished verdict tables; means over each task's verdicts are taken.
        ground_truth: this run's ground truths, which tell more than the mean; its columns as in VERDICTS.
    """
    measured = _means(known)
    if ground_truth is not None:
        told = ground_truth.filter(pc.field("status").isin(MEASURED)).select(_COLUMNS).to_pylist()
        measured |= {row["task_id"]: Cost(row["wall_seconds"], row["max_rss_mib"]) for row in told}
    return Expectations(MappingProxyType(measured))


def _means(known: Sequence[Path]) -> dict[str, Cost]:
    if not known:
        return {}
    files = ds.dataset([str(file) for file in known], schema=VERDICTS)
    measured = pc.field("status").isin(MEASURED) & (pc.field("backend") != "imported")  # those carry no times
    rows = files.to_table(columns=_COLUMNS, filter=measured)
    means = rows.group_by("task_id").aggregate([("wall_seconds", "mean"), ("max_rss_mib", "max")])
    return {row["task_id"]: Cost(row["wall_seconds_mean"], row["max_rss_mib_max"]) for row in means.to_pylist()}


@cache
def _facts() -> Mapping[str, Fact]:
    with shipped(_FACTS).open(encoding="utf-8", newline="") as file:
        facts = {
            row["test_sha256"]: Fact(
                Cost(float(row["wall_seconds"]), float(row["max_rss_mib"])), float(row["cpu_seconds"])
            )
            for row in csv.DictReader(file)
        }
    return MappingProxyType(facts)
