"""Findings of the audit: what is wrong with a task, where, and how to reproduce it.

Here are those of contradicted assertions that check nothing, of executions that do not always pass, and of errata.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.core.errata import errata_of
from bigcodeflow.execution import evaluation
from bigcodeflow.execution.costs import sha256_of_test
from bigcodeflow.execution.environment_check import unjudgeable_tasks
from bigcodeflow.execution.quarantine import quarantined, read_quarantine
from bigcodeflow.judge.integrity.operands import evaluated_text
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import Store

Alteration = Mapping[str, Any]
#: Kinds of findings. Undecided: a surviving mutant may be an equivalent program,
#: and models that fail alike may make the same mistake.
WRONG_TEST, TOO_WEAK, UNDERSPECIFIED, FLAKY, NETWORK, ENVIRONMENT, UNDECIDED = (
    "wrong test", "too weak", "underspecified", "flaky", "network", "environment", "undecided",
)  # fmt: skip
#: Kind of the row that holds the mutant counts of a task.
COUNTED = "counted"
MUTATION, CONTRADICTION, MODELS, EXECUTIONS, ERRATA = "mutation", "contradiction", "models", "executions", "errata"


class Finding(NamedTuple):
    """One row of the audit, with columns of ``core.schemas.STUDIES['audit']``."""

    task_id: str
    method: str
    kind: str
    text: str
    line: int | None = None
    operator: str = ""
    before: str = ""
    after: str = ""
    command: str = ""


class MutantCounts(NamedTuple):
    """Numbers of a task's mutants by outcome."""

    killed: int = 0
    survived: int = 0
    apart: int = 0
    """Mutants in code that tests are not expected to observe, whatever their outcome."""
    equivalent: int = 0
    unjudged: int = 0
    possible: int = 0


def score_of(row: Mapping[str, Any]) -> float | None:
    """Return a task's killed mutants as a share of killed and surviving ones; None if there are no such mutants."""
    total = row["killed"] + row["survived"]
    return row["killed"] / total if total else None


def undetected(
    tasks: pa.Table, truths: pa.Table, run: ResolvedRun, store: Store, listener: Listener
) -> list[tuple[str, Alteration]]:
    """Return task id and alteration of each contradicted literal that the reference does not fail, one per line."""
    rows = evaluation.undetected_contradictions(
        tasks,
        truths,
        config=run.config.execution,
        environment=run.contents["environment"].value,
        store=store,
        progress=listener.begin("contradictions"),
    )
    # Keep literals only: an altered expression may have the same value, as a frame of one row in reverse order.
    rows = [row for row in rows if all(evaluated_text(row[1][name]) is not None for name in ("before", "after"))]
    rows.sort(key=lambda row: (row[0], row[1]["line"], row[1]["after"]))
    return list({(task_id, one["test"], one["line"]): (task_id, one) for task_id, one in reversed(rows)}.values())[::-1]


def contradiction_finding(task_id: str, one: Alteration, command: str) -> Finding:
    """Return the finding for a contradiction that the reference does not fail."""
    text = f"the reference does not fail {one['test']} although line {one['line']} of the test is contradicted"
    return Finding(task_id, CONTRADICTION, TOO_WEAK, text, one["line"], "", one["before"], one["after"], command)


def execution_findings(
    tasks: Sequence[Mapping[str, Any]],
    truths: pa.Table,
    store: Store,
    environment_sha: str,
    command: Callable[[str], str],
) -> list[Finding]:
    """Return a finding for each task whose ground truth fails now, or failed sometimes under ``env check --repeat``."""
    found = {}
    for one in unjudgeable_tasks(truths):
        kind = NETWORK if one.reason == "network" else ENVIRONMENT
        text = f"the reference does not pass here ({one.status}; needs {one.reason}): {one.evidence}"
        found[one.task_id] = Finding(one.task_id, EXECUTIONS, kind, text, command=command(one.task_id))
    known = {(task["task_id"], sha256_of_test(dict(task))) for task in tasks}
    for row in quarantined(read_quarantine(store, environment_sha)):
        text = f"the reference passed {row['passes']:,} of {row['executions']:,} executions: {row['evidence']}"
        if row["passes"] and (row["task_id"], row["test_sha256"]) in known:
            found[row["task_id"]] = Finding(row["task_id"], EXECUTIONS, FLAKY, text, command=command(row["task_id"]))
    return list(found.values())


def errata_findings(tasks: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Return a finding for each erratum of a task whose texts are exactly those with the error."""
    return [
        Finding(task["task_id"], ERRATA, one.kind, one.text, command=one.evidence)
        for task in tasks
        for one in errata_of(task)
    ]
