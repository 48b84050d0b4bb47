"""What is executed: one program against one test text, under limits, in an environment; what it costs; the order.

Expectations come from the store's own past, else from shipped facts. They order work, so a wrong one costs
time and nothing else. The one number that also enters a verdict's key, the CPU time that may raise a limit, comes from
the shipped facts alone, where it never changes.
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
#: The least CPU time after which a sample is long, and the least that a scaled limit allows.
SHORTEST_LIMIT_SECONDS = 10.0
#: Multiple of the reference solution's time that a solution is expected to keep to.
_TIMES_REFERENCE = 20
#: Items from here on start before all others, the longest first.
LONG_SECONDS = 2.0


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


class Origin(NamedTuple):
    """Whose execution it is, for display only; of equal executions the first's."""

    task_id: str = ""
    variant: str = ""
    """Empty for an execution that checks a pass."""
    sample_index: int | None = None


_UNKNOWN_ORIGIN = Origin()


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
    long_after_seconds: float = SHORTEST_LIMIT_SECONDS
    """CPU time after which it gives way to others, for planning only."""
    separate: bool = False
    """Whether the program runs in a process of its own; the test text, which holds a program that solves the task, runs
    in another, and gets from ``__separated__`` functions that call the program's."""
    fail_fast: bool = False
    """Whether the executor ends it at its first failing test; the tests after that one have no outcome then."""
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
    """The execution of a program against a task's test, with its content key.

    Args:
        program: the whole program text, calibrated where that is wanted.
        allow_unisolated: whether it may run as a bare process, which bounds less: such verdicts serve no other run.
        ground_truth_cpu_seconds: CPU time that the task's own solution is known to take; it may raise the limit. It
            must be a shipped number: one measured here would give equal work another key every night.
        reference_seconds: what the limit is scaled by where `limits.time_policy` is 'scaled'; 0: it is not scaled.
        fail_fast: end it at its first failing test: such a verdict lacks outcomes, and answers for no complete one.
    """
    time_seconds = raised_limit(limits.time_seconds, ground_truth_cpu_seconds)
    if limits.time_policy == "scaled" and reference_seconds:
        time_seconds = min(time_seconds, scaled_limit(reference_seconds))
    time_seconds += 1.0
    bounds = limits.model_dump(exclude={"time_policy"}) | {"time_seconds": time_seconds}
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
    key = hashlib.sha256(text).hexdigest()
    return WorkItem(key, program, task["test"], expected, time_seconds, missing_imports, fail_fast=fail_fast)


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


def scaled_limit(reference_seconds: float) -> float:
    """Ten seconds, doubled until twenty times the reference fits: few values, so that equal work keeps equal keys."""
    limit_seconds = SHORTEST_LIMIT_SECONDS
    while limit_seconds < _TIMES_REFERENCE * reference_seconds:
        limit_seconds *= 2
    return limit_seconds


class Cost(NamedTuple):
    """What an execution takes, or is expected to take."""

    seconds: float = 1.0
    """Wall time."""
    memory_mib: float = 200.0
    cpu_seconds: float = 0.0
    """CPU time; 0 where it is not known."""


Expectations = Callable[[Mapping[str, Any]], Cost]
"""The cost to expect of an execution against the test of a task, a row of TASKS."""


def sha256_of_test(task: Mapping[str, Any]) -> str:
    """Identity of the task's test text."""
    return hashlib.sha256(task["test"].encode("utf-8", "surrogatepass")).hexdigest()


def fact_of(task: Mapping[str, Any]) -> Cost | None:
    """What ships of the task's ground truth, found by its test, so that another dataset's task of that id has none."""
    return _facts().get(sha256_of_test(task))


@cache
def _facts() -> Mapping[str, Cost]:
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("wall_seconds", "max_rss_mib", "cpu_seconds")
    return {row["test_sha256"]: Cost(*(float(row[name]) for name in names)) for row in rows}


def longest_first(task: Mapping[str, Any]) -> float:
    """Sort key of rows of TASKS: those whose ground truth is known to take long come first, the longest before all.

    So asked for, their samples are executed beside the asking and not after its end.
    """
    fact = fact_of(task)
    return -fact.seconds if fact and fact.seconds >= LONG_SECONDS else 0.0


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
        names = ["task_id", "wall_seconds", "max_rss_mib", "cpu_seconds"]
        own = ground_truth.filter(pc.field("status").isin(MEASURED)).select(names).to_pylist()
        measured |= {row["task_id"]: Cost(*(row[name] or 0.0 for name in names[1:])) for row in own}

    def expected(task: Mapping[str, Any]) -> Cost:
        return measured.get(task["task_id"]) or fact_of(task) or Cost()

    return expected


def in_order(items: Iterable[WorkItem]) -> list[WorkItem]:
    """Items in the order in which they should start.

    Long items come first, the longest before all, so that no core waits for a last long one. Short ones follow by what
    they preload, so that neighbours find the same libraries warm.
    """

    def place(item: WorkItem) -> tuple[Any, ...]:
        if item.expected_seconds >= LONG_SECONDS:
            return False, -item.expected_seconds, item.verdict_key
        return True, item.zygote, item.preload, item.verdict_key

    return sorted(items, key=place)
