"""Work items: each item executes a program against a test text, under limits, in an environment."""

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

#: Value of ``missing_imports`` for a canonical solution: a failed import is never the solution's fault.
ANY_IMPORT = frozenset({"*"})
#: Least ratio of a raised limit to the ground truth's CPU time: samples may be a little slower than the authors' code.
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
    """Return the version of bigcodeflow and harness here; sender and executor of an item must have the same version."""
    return f"{bigcodeflow.__version__}, harness {HARNESS_VERSION}"


def require_code(wanted: str) -> None:
    """Raise EnvironmentUnusableError if ``wanted``, the sender's code version, differs from this process's version."""
    if code_version() != wanted:
        raise EnvironmentUnusableError(
            f"worker on {socket.gethostname()} has bigcodeflow {code_version()}, but the run needs {wanted}: install "
            "that version on the worker's machine, and restart the worker"
        )


Layers = tuple[tuple[str, ...], ...]
"""Modules of a zygote, in layers: a fork of the zygote with all layers but the last imports the last layer."""


class Origin(NamedTuple):
    """Sample that an item executes, or the first of several samples that share the execution; for display only."""

    task_id: str = ""
    variant: str = ""
    """Executed variant, 'calibrated' or 'raw'; empty for an execution that checks a pass."""
    sample_index: int | None = None


_UNKNOWN_ORIGIN = Origin()


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Execution to be done. Items with equal ``verdict_key`` are equal executions, and share one verdict."""

    verdict_key: str
    program: str
    test: str
    expected_tests: tuple[str, ...]
    time_seconds: float
    missing_imports: frozenset[str]
    """Names of imports whose failure is the environment's fault, as ``tracebacks.failed_import`` returns them."""
    expected_seconds: float = 1.0
    """Expected wall time, for planning only."""
    expected_cpu_seconds: float = 0.0
    """Expected CPU time of program and test, for planning only."""
    expected_memory_mib: float = 200.0
    """Expected resident memory, for planning only."""
    preload: tuple[str, ...] = ()
    """Modules that program and test import first, in order; the harness imports them before the program runs."""
    zygote: Layers = ()
    """Modules of the zygote from which the item is forked; the import of ``preload`` loads all of these modules too."""
    setup_names: frozenset[str] = frozenset()
    """Names that the task's code_prompt binds; only the failure kind depends on these names."""
    stop_after: int = 0
    """Number of reported tests after which the executor ends the execution; 0: the execution runs to its end."""
    long_after_seconds: float = SHORTEST_LIMIT_SECONDS
    """CPU time after which the execution gives way to waiting items, for planning only."""
    separate: bool = False
    """True if program and test text run in two processes. The test text then contains a program that solves the task,
    and calls ``__separated__`` to get proxies for the functions of ``program``."""
    fail_fast: bool = False
    """True if the executor ends the execution at its first failing test; later tests then have no outcome."""
    from_memory: bool = False
    """True if the backend executes the item again until an execution reads nothing from the disk. Otherwise an earlier
    execution could pass a message to this item by the choice of the files that it reads into memory."""
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
    """Make the item that executes a program against a task's test; the item's key is a hash of its content.

    Args:
        program: text of the whole program, which includes the task's setup if the execution is calibrated.
        allow_unisolated: True if the item may run without a sandbox, under weaker limits; isolated runs never reuse the
            verdict of such an item.
        ground_truth_cpu_seconds: shipped CPU time of the task's canonical solution, which may raise the time limit.
            Never pass a time measured here: each measurement would change the key of equal work.
        reference_seconds: time of the reference solution, from which the time limit is computed if
            `limits.time_policy` is 'scaled'; 0: the limit is not scaled.
        fail_fast: True ends the item at its first failing test; the verdict lacks later outcomes, so the key differs.
    """
    time_seconds = raised_limit(limits.time_seconds, ground_truth_cpu_seconds)
    if limits.time_policy == "scaled" and reference_seconds:
        time_seconds = min(time_seconds, scaled_limit(reference_seconds))
    time_seconds += 1.0
    bounds = limits.model_dump(exclude={"time_policy"}) | {"time_seconds": time_seconds}
    if limits.output_kib == LimitsConfig().output_kib:
        del bounds["output_kib"]  # keeps the keys of verdicts that were recorded before the key included this limit
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
    """Make a row with the columns of TASKS that an execution reads, for a test that is in no dataset."""
    task_id = hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()
    return {"task_id": task_id, "test": test, "entry_point": entry_point, "expected_tests": expected_tests}


def untested_item(program: str, time_seconds: float) -> WorkItem:
    """Make an item that runs a program only for its output: its test always passes, and its key is empty."""
    return WorkItem("", program, _PASSING_TEST, ("test_nothing",), time_seconds, frozenset())


def numbered(item: WorkItem, number: int | str) -> WorkItem:
    """Return a copy of the item whose key also depends on ``number``, so that the item's verdict is not reused."""
    return replace(item, verdict_key=hashlib.sha256(f"{item.verdict_key} {number}".encode()).hexdigest())


def separated(item: WorkItem) -> WorkItem:
    """Return a copy of the item, with a new key, whose program and test text run in two processes."""
    return replace(numbered(item, "separate 2"), separate=True)


def raised_limit(limit_seconds: float, ground_truth_cpu_seconds: float) -> float:
    """Return ``limit_seconds``; if the ground truth takes longer, double it until it exceeds that time by 25 %."""
    wanted = _SPARE * ground_truth_cpu_seconds if ground_truth_cpu_seconds > limit_seconds else 0.0
    while limit_seconds < wanted:
        limit_seconds *= 2
    return limit_seconds


def scaled_limit(reference_seconds: float) -> float:
    """Return the first of 10, 20, 40, … s that is at least 20 ``reference_seconds``: few values, so few new keys."""
    limit_seconds = SHORTEST_LIMIT_SECONDS
    while limit_seconds < _TIMES_REFERENCE * reference_seconds:
        limit_seconds *= 2
    return limit_seconds
