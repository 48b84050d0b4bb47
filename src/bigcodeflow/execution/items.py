"""Work items: one program against one test text, under limits, in an environment; their costs and their order.

Expected costs come from the store's history, else from shipped facts. They order work, so a wrong cost only wastes
time. The CPU time that may raise a limit also enters a verdict's key, so it comes from the shipped facts alone, which
never change.
"""

import csv
import hashlib
import json
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

import bigcodeflow
from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.paths import shipped
from bigcodeflow.sandbox.protocol import HARNESS_VERSION

#: Value of ``missing_imports`` for a task's own program: a failed import is never the program's fault.
ANY_IMPORT = frozenset({"*"})
#: Ratio of a raised limit to the ground truth's CPU time: solutions may be a little slower than the authors' code.
_SPARE = 1.25
_PASSING_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        pass
"""
#: Statuses with a usable duration: after a time-out, the duration shows the limit, not how long the task takes.
MEASURED = ("pass", "fail")
#: Shortest CPU time after which a sample counts as long, and the shortest scaled limit.
SHORTEST_LIMIT_SECONDS = 10.0
#: Ratio of a scaled limit to the reference solution's time.
_TIMES_REFERENCE = 20
#: Items that are expected to take at least this long start before all others, the longest first.
LONG_SECONDS = 2.0


def code_version() -> str:
    """Return the version that must be the same at the sender and at the executor of items."""
    return f"{bigcodeflow.__version__}, harness {HARNESS_VERSION}"


def require_code(wanted: str) -> None:
    """Raise EnvironmentUnusableError for work of another version, whose fields may have another meaning."""
    if code_version() != wanted:
        raise EnvironmentUnusableError(
            f"worker on {socket.gethostname()} has bigcodeflow {code_version()}, and the run {wanted}: install the "
            "same version there and restart the worker"
        )


class Origin(NamedTuple):
    """The sample that is executed, for display only; for equal executions, the first of their samples."""

    task_id: str = ""
    variant: str = ""
    """Empty for an execution that checks a pass."""
    sample_index: int | None = None


_UNKNOWN_ORIGIN = Origin()


@dataclass(frozen=True, slots=True)
class WorkItem:
    """An execution. Equal keys mean equal executions, which share one verdict."""

    verdict_key: str
    program: str
    test: str
    expected_tests: tuple[str, ...]
    time_seconds: float
    missing_imports: frozenset[str]
    """Imports whose failure is the environment's fault for any program; names as in ``tracebacks.failed_import``."""
    expected_seconds: float = 1.0
    """Expected wall time, for planning only."""
    expected_memory_mib: float = 200.0
    """Expected resident memory, for planning only."""
    preload: tuple[str, ...] = ()
    """Modules that program and test import first, in order; they are imported before the program runs."""
    zygote: tuple[str, ...] = ()
    """Modules that a warm worker keeps imported, a sorted subset of all modules that ``preload`` loads."""
    setup_names: frozenset[str] = frozenset()
    """Names that the task's code_prompt binds, for the failure kind only."""
    stop_after: int = 0
    """Number of tests after which the executor ends it from outside; 0: it runs to its end."""
    long_after_seconds: float = SHORTEST_LIMIT_SECONDS
    """CPU time after which it gives way to other items, for planning only."""
    separate: bool = False
    """True if the program runs in a separate process. The test text, which holds a program that solves the task, runs
    in another process, and gets from ``__separated__`` functions that call the program's functions."""
    fail_fast: bool = False
    """True if the executor ends it at its first failing test; later tests then have no outcome."""
    from_memory: bool = False
    """True if an execution that reads from the disk is repeated: a page of a file that nobody has read yet could be a
    message from an earlier execution, and is none once it was read."""
    origin: Origin = _UNKNOWN_ORIGIN


def work_item(
    *,
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    environment_sha: str,
    limits: LimitsConfig,
    allow_unisolated: bool = False,
    ground_truth_cpu_seconds: float = 0.0,
    reference_seconds: float = 0.0,
    fail_fast: bool = False,
) -> WorkItem:
    """Make the item that executes a program against a task's test, with its content key.

    Args:
        program: the whole program text, already calibrated if that is wanted.
        allow_unisolated: True if it may run as a bare process with weaker limits; isolated runs never use its verdict.
        ground_truth_cpu_seconds: known CPU time of the task's own solution; it may raise the limit. It must be a
            shipped number: a measured number would change the key of equal work with every measurement.
        reference_seconds: time by which the limit is scaled if `limits.time_policy` is 'scaled'; 0: not scaled.
        fail_fast: end it at its first failing test; such a verdict lacks outcomes, so its key differs.
    """
    time_seconds = raised_limit(limits.time_seconds, ground_truth_cpu_seconds)
    if limits.time_policy == "scaled" and reference_seconds:
        time_seconds = min(time_seconds, scaled_limit(reference_seconds))
    time_seconds += 1.0
    bounds = limits.model_dump(exclude={"time_policy"}) | {"time_seconds": time_seconds}
    if limits.output_kib == LimitsConfig().output_kib:
        del bounds["output_kib"]  # keeps the keys of verdicts that were recorded before the key included it
    if allow_unisolated:
        bounds["isolated"] = False
    if fail_fast:
        bounds["fail_fast"] = True
    expected = tuple(task["expected_tests"])
    identity = [HARNESS_VERSION, program, task["test"], expected, environment_sha, bounds]
    # Lone surrogates are legal in a string that a model produced; they must not stop the hash.
    text = json.dumps(identity, sort_keys=True).encode()
    key = hashlib.sha256(text).hexdigest()
    return WorkItem(key, program, task["test"], expected, time_seconds, missing_imports, fail_fast=fail_fast)


def untested_item(program: str, time_seconds: float) -> WorkItem:
    """Make an item that runs a program for its output, with a test that passes; no key, as nothing is recorded."""
    return WorkItem("", program, _PASSING_TEST, ("test_nothing",), time_seconds, frozenset())


def numbered(item: WorkItem, number: int | str) -> WorkItem:
    """Return the item with a new key made from ``number``, so that no verdict of another execution applies to it."""
    return replace(item, verdict_key=hashlib.sha256(f"{item.verdict_key} {number}".encode()).hexdigest())


def separated(item: WorkItem) -> WorkItem:
    """Return the item with a new key, to run its program and its test text in two processes."""
    return replace(numbered(item, "separate"), separate=True)


def raised_limit(limit_seconds: float, ground_truth_cpu_seconds: float) -> float:
    """Return the limit; if the ground truth takes longer, double it until the ground truth fits with 25 % to spare."""
    wanted = _SPARE * ground_truth_cpu_seconds if ground_truth_cpu_seconds > limit_seconds else 0.0
    while limit_seconds < wanted:
        limit_seconds *= 2
    return limit_seconds


def scaled_limit(reference_seconds: float) -> float:
    """Return 10 seconds, doubled until 20 times the reference fits; few distinct values, so that keys rarely change."""
    limit_seconds = SHORTEST_LIMIT_SECONDS
    while limit_seconds < _TIMES_REFERENCE * reference_seconds:
        limit_seconds *= 2
    return limit_seconds


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
    """Return the shipped cost of the task's ground truth, or None; keyed by test text, as datasets may share ids."""
    return _facts().get(sha256_of_test(task))


@cache
def _facts() -> Mapping[str, Cost]:
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("wall_seconds", "max_rss_mib", "cpu_seconds")
    return {row["test_sha256"]: Cost(*(float(row[name]) for name in names)) for row in rows}


def longest_first(task: Mapping[str, Any]) -> float:
    """Return the sort key of a TASKS row: tasks with a long shipped ground truth come first, the longest before all.

    Models are asked for these samples first, so that they are executed during the generation and not after its end.
    """
    fact = fact_of(task)
    return -fact.seconds if fact and fact.seconds >= LONG_SECONDS else 0.0


def expectations(
    costs: Mapping[str, Cost] = MappingProxyType({}), ground_truth: pa.Table | None = None
) -> Expectations:
    """Return a function that estimates costs: from verdicts, else from the shipped fact, else a default.

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
