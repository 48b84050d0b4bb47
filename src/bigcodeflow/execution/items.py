"""What is executed: one program against one test text, under limits, in an environment."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from bigcodeflow.config import LimitsConfig
from bigcodeflow.sandbox.protocol import HARNESS_VERSION


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One execution. Equal keys mean equal executions: the verdict of one serves all."""

    verdict_key: str
    program: str
    test: str
    expected_tests: tuple[str, ...]
    time_seconds: float
    task_modules: frozenset[str]
    """Top-level modules that the task itself imports; one of these missing is the environment's fault."""
    expected_seconds: float = 1.0
    """Wall time to expect, for planning only."""


def work_item(
    *,
    program: str,
    task: dict[str, Any],
    task_modules: frozenset[str],
    environment_sha: str,
    limits: LimitsConfig,
    ground_truth_seconds: float | None = None,
) -> WorkItem:
    """The execution of a program against a task's test, with its content key.

    Args:
        program: the whole program text, calibrated where that is wanted.
        task: a row of the tasks table.
        task_modules: modules that the task itself needs.
        environment_sha: identity of the sandbox environment.
        limits: what the sample may use.
        ground_truth_seconds: the ground truth's wall time; a slower one than the limit raises the limit.
    """
    time_seconds = max(limits.time_seconds, ground_truth_seconds or 0.0) + 1.0
    bounds = limits.model_dump(exclude={"output_kib"}) | {"time_seconds": time_seconds}
    expected = tuple(task["expected_tests"])
    identity = [HARNESS_VERSION, program, task["test"], expected, environment_sha, bounds]
    # Lone surrogates are legal in a string that a model produced; they must not stop the hash.
    text = json.dumps(identity, sort_keys=True).encode()
    return WorkItem(
        verdict_key=hashlib.sha256(text).hexdigest(),
        program=program,
        test=task["test"],
        expected_tests=expected,
        time_seconds=time_seconds,
        task_modules=task_modules,
        expected_seconds=1.0 if ground_truth_seconds is None else ground_truth_seconds,
    )
