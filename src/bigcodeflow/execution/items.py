"""What is executed: one program against one test text, under limits, in an environment; what it costs; batches.

Expectations come from the store's own past, else from shipped facts. They order and pack work, so a wrong one costs
time and nothing else. The one number that also enters a verdict's key, the CPU time that may raise a limit, comes from
the shipped facts alone, where it never changes.
"""

import csv
import hashlib
import json
import math
import socket
from collections.abc import Callable, Mapping, Sequence
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

#: In ``missing_imports`` of a task's own program: no import can fail by its fault.
ANY_IMPORT = frozenset({"*"})
#: A raised limit over the ground truth's CPU time: solutions may be a little slower than what the authors wrote.
_SPARE = 1.25
_PASSING_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        pass
"""
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


def code_version() -> str:
    """What has to be the same where items are sent from and where they are executed."""
    return f"{bigcodeflow.__version__}, harness {HARNESS_VERSION}"


def require_code(wanted: str) -> None:
    """Refuse work of another version, which may mean something else by the same words."""
    if code_version() != wanted:
        raise EnvironmentUnusableError(
            f"worker on {socket.gethostname()} has bigcodeflow {code_version()}, and the run {wanted}: install the "
            "same version there and restart the worker"
        )


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One execution. Equal keys mean equal executions: the verdict of one serves all."""

    verdict_key: str
    program: str
    test: str
    expected_tests: tuple[str, ...]
    time_seconds: float
    missing_imports: frozenset[str]
    """Imports whose failure is the environment's fault whatever the program is, by ``traces.failed_import``."""
    expected_seconds: float = 1.0
    """Wall time to expect, for planning only."""
    expected_memory_mib: float = 200.0
    """Resident memory to expect, for planning only."""
    preload: tuple[str, ...] = ()
    """Modules that program and test import first of all, in their order; imported before the program runs."""
    zygote: tuple[str, ...] = ()
    """Modules, of those that the preloaded ones load, that a warm worker keeps imported; sorted."""
    setup_names: frozenset[str] = frozenset()
    """Names that the task's code_prompt binds, for the failure kind only."""
    stop_after: int = 0
    """Tests after which the executor ends it from outside; 0: it runs to its end."""
    separate: bool = False
    """Whether the program runs in a process of its own; the test text, which holds a program that solves the task, runs
    in another, and gets from ``__separated__`` functions that call the program's."""
    fail_fast: bool = False
    """Whether the executor ends it at its first failing test; the tests after that one have no outcome then."""


def work_item(
    *,
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    environment_sha: str,
    limits: LimitsConfig,
    allow_unisolated: bool = False,
    ground_truth_cpu_seconds: float = 0.0,
    fail_fast: bool = False,
) -> WorkItem:
    """The execution of a program against a task's test, with its content key.

    Args:
        program: the whole program text, calibrated where that is wanted.
        allow_unisolated: whether it may run as a bare process, which bounds less: such verdicts serve no other run.
        ground_truth_cpu_seconds: CPU time that the task's own solution is known to take; it may raise the limit. It
            must be a shipped number: one measured here would give equal work another key every night.
        fail_fast: end it at its first failing test: such a verdict lacks outcomes, and answers for no complete one.
    """
    time_seconds = raised_limit(limits.time_seconds, ground_truth_cpu_seconds) + 1.0
    bounds = limits.model_dump() | {"time_seconds": time_seconds}
    if limits.output_kib == LimitsConfig().output_kib:
        del bounds["output_kib"]  # keys of verdicts that were recorded before it was held stay what they are
    if allow_unisolated:
        bounds["isolated"] = False
    if fail_fast:
        bounds["fail_fast"] = True
    expected = tuple(task["expected_tests"])
    identity = [HARNESS_VERSION, program, task["test"], expected, environment_sha, bounds]
    # Lone surrogates are legal in a string that a model produced; they must not stop the hash.
    text = json.dumps(identity, sort_keys=True).encode()
    return WorkItem(
        hashlib.sha256(text).hexdigest(),
        program,
        task["test"],
        expected,
        time_seconds,
        missing_imports,
        fail_fast=fail_fast,
    )


def untested_item(program: str, time_seconds: float) -> WorkItem:
    """A program that is executed for what it prints, with a test that passes; without a key, as nothing is recorded."""
    return WorkItem("", program, _PASSING_TEST, ("test_nothing",), time_seconds, frozenset())


def numbered(item: WorkItem, number: int | str) -> WorkItem:
    """The same execution under a key of its own, which no verdict of another execution answers."""
    return replace(item, verdict_key=hashlib.sha256(f"{item.verdict_key} {number}".encode()).hexdigest())


def separated(item: WorkItem) -> WorkItem:
    """The same program and test text in two processes, under a key of its own."""
    return replace(numbered(item, "separate"), separate=True)


def raised_limit(limit_seconds: float, ground_truth_cpu_seconds: float) -> float:
    """The limit, doubled until a ground truth that would not fit it fits with a quarter to spare."""
    wanted = _SPARE * ground_truth_cpu_seconds if ground_truth_cpu_seconds > limit_seconds else 0.0
    while limit_seconds < wanted:
        limit_seconds *= 2
    return limit_seconds


class Cost(NamedTuple):
    """What an execution takes, or is expected to take."""

    seconds: float = 1.0
    memory_mib: float = 200.0


Expectations = Callable[[Mapping[str, Any]], Cost]
"""The cost to expect of an execution against the test of a task, a row of TASKS."""


class Fact(NamedTuple):
    """A ground truth's measured cost, as it ships."""

    cost: Cost
    cpu_seconds: float


def sha256_of_test(task: Mapping[str, Any]) -> str:
    """Identity of the task's test text."""
    return hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()


def fact_of(task: Mapping[str, Any]) -> Fact | None:
    """What ships of the task, found by the text of its test, so that another dataset's task of that id gets nothing."""
    return _facts().get(sha256_of_test(task))


@cache
def _facts() -> Mapping[str, Fact]:
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    costs = (Cost(float(row["wall_seconds"]), float(row["max_rss_mib"])) for row in rows)
    return {row["test_sha256"]: Fact(cost, float(row["cpu_seconds"])) for row, cost in zip(rows, costs, strict=True)}


def expectations(
    costs: Mapping[str, Cost] = MappingProxyType({}), ground_truth: pa.Table | None = None
) -> Expectations:
    """The cost to expect of an execution against a task's test: as verdicts show it, else the shipped fact or a guess.

    Args:
        costs: what executions of a task have taken so far, by task_id.
        ground_truth: this run's ground truths, which say more than the mean; its columns as in VERDICTS.
    """
    measured = dict(costs)
    if ground_truth is not None:
        own = ground_truth.filter(pc.field("status").isin(MEASURED)).select(["task_id", "wall_seconds", "max_rss_mib"])
        measured |= {row["task_id"]: Cost(row["wall_seconds"], row["max_rss_mib"]) for row in own.to_pylist()}

    def expected(task: Mapping[str, Any]) -> Cost:
        fact = fact_of(task)
        return measured.get(task["task_id"]) or (fact.cost if fact else Cost())

    return expected


@dataclass(frozen=True, slots=True)
class Batch:
    """Items that one slot executes one after the other."""

    name: str
    """Derived from the items' keys: the same items make the same batch in a resumed run."""
    items: tuple[WorkItem, ...]


def plan_batches(items: Sequence[WorkItem], slots: int, *, alone: bool = False) -> list[Batch]:
    """Batches in the order in which they should start, never more than MOST_BATCHES unless each item is to be alone.

    Long items come first, the longest before all, so that no core waits for a last long one. Short ones follow by what
    they preload, so that neighbours find the same libraries warm.

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
    return Batch(name, tuple(items))
