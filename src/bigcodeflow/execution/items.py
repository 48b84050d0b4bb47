"""What is executed: one program against one test text, under limits, in an environment."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from bigcodeflow.config import LimitsConfig
from bigcodeflow.sandbox.protocol import HARNESS_VERSION

#: In ``missing_imports`` of a task's own program: no import can fail by its fault.
ANY_IMPORT = frozenset({"*"})
#: A raised limit over the ground truth's CPU time: solutions may be a little slower than what the authors wrote.
_SPARE = 1.25


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


def work_item(
    *,
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    environment_sha: str,
    limits: LimitsConfig,
    allow_unisolated: bool = False,
    ground_truth_cpu_seconds: float = 0.0,
    expected_seconds: float = 1.0,
    expected_memory_mib: float = 200.0,
    setup_names: frozenset[str] = frozenset(),
) -> WorkItem:
    """The execution of a program against a task's test, with its content key.

    Args:
        program: the whole program text, calibrated where that is wanted.
        missing_imports: imports whose failure is the environment's fault.
        allow_unisolated: whether it may run as a bare process, which bounds less: such verdicts serve no other run.
        ground_truth_cpu_seconds: CPU time that the task's own solution is known to take; it may raise the limit. It
            must be a shipped number: one measured here would give equal work another key every night.
    """
    time_seconds = raised_limit(limits.time_seconds, ground_truth_cpu_seconds) + 1.0
    bounds = limits.model_dump() | {"time_seconds": time_seconds}
    if limits.output_kib == LimitsConfig().output_kib:
        del bounds["output_kib"]  # keys of verdicts that were recorded before it was held stay what they are
    expected = tuple(task["expected_tests"])
    if allow_unisolated:
        bounds["isolated"] = False
    identity = [HARNESS_VERSION, program, task["test"], expected, environment_sha, bounds]
    # Lone surrogates are legal in a string that a model produced; they must not stop the hash.
    text = json.dumps(identity, sort_keys=True).encode()
    return WorkItem(
        verdict_key=hashlib.sha256(text).hexdigest(),
        program=program,
        test=task["test"],
        expected_tests=expected,
        time_seconds=time_seconds,
        missing_imports=missing_imports,
        expected_seconds=expected_seconds,
        expected_memory_mib=expected_memory_mib,
        setup_names=setup_names,
    )


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
