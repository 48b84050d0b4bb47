"""Work items: one program against one test text, under limits, in an environment."""

import hashlib
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import bigcodeflow
from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.judge.guest.protocol import HARNESS_VERSION

#: Value of ``missing_imports`` for a task's own program: a failed import is never the program's fault.
ANY_IMPORT = frozenset({"*"})
#: Ratio of a raised limit to the ground truth's CPU time: solutions may be a little slower than the authors' code.
_SPARE = 1.25
_PASSING_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        pass
"""
#: Shortest CPU time after which a sample counts as long, and the shortest scaled limit.
SHORTEST_LIMIT_SECONDS = 10.0
#: Ratio of a scaled limit to the reference solution's time.
_TIMES_REFERENCE = 20


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


Layers = tuple[tuple[str, ...], ...]
"""Modules of a zygote: a process that has the layers up to one of them is forked for the next."""


class Origin(NamedTuple):
    """The sample that an item executes, for display only; the first sample if several share the execution."""

    task_id: str = ""
    variant: str = ""
    """Empty for an execution that checks a pass."""
    sample_index: int | None = None


_UNKNOWN_ORIGIN = Origin()


@dataclass(frozen=True, slots=True)
class WorkItem:
    """An execution to be done. Equal ``verdict_key`` mean equal executions, which share one verdict."""

    verdict_key: str
    program: str
    test: str
    expected_tests: tuple[str, ...]
    time_seconds: float
    missing_imports: frozenset[str]
    """Imports whose failure is the environment's fault for any program; names as in ``tracebacks.failed_import``."""
    expected_seconds: float = 1.0
    """Expected wall time, for planning only."""
    expected_cpu_seconds: float = 0.0
    """Expected CPU time of program and test, for planning only."""
    expected_memory_mib: float = 200.0
    """Expected resident memory, for planning only."""
    preload: tuple[str, ...] = ()
    """Modules that program and test import first, in order; they are imported before the program runs."""
    zygote: Layers = ()
    """Modules that a warm worker keeps imported; ``preload`` loads all of them."""
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
    """True if it is repeated until an execution reads nothing from the disk: otherwise an earlier execution could leave
    it a message by which pages of files are in memory."""
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


def task_row(test: str, entry_point: str, expected_tests: Sequence[str]) -> dict[str, Any]:
    """Make the columns of TASKS that executions and checks read, for a test that is in no data set."""
    task_id = hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()
    return {"task_id": task_id, "test": test, "entry_point": entry_point, "expected_tests": expected_tests}


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
