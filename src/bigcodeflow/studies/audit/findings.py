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
    killed: int | None = None
    """Number of noticed mutants; in the row of counts, as the following ones."""
    survived: int | None = None
    apart: int | None = None
    """Mutants in code that tests are not expected to observe, whatever their outcome."""
    equivalent: int | None = None
    unjudged: int | None = None
    possible: int | None = None


def contradiction_findings(
    tasks: pa.Table, truths: pa.Table, run: ResolvedRun, listener: Listener, command: Callable[[str], str]
) -> list[Finding]:
    """Return a finding for each contradicted literal that the reference does not fail, one per line of a test."""
    rows = evaluation.undetected_contradictions(
        tasks,
        truths,
        config=run.config.execution,
        environment=run.contents["environment"].value,
        store=run.store,
        progress=listener.begin("contradictions"),
    )
    found = dict[tuple[str, str, int], Finding]()
    for task_id, one in sorted(rows, key=lambda row: (row[0], row[1]["line"], row[1]["after"])):
        test, line, before, after = (one[name] for name in ("test", "line", "before", "after"))
        # Keep literals only: an altered expression may have the same value, as a frame of one row in reverse order.
        if evaluated_text(before) is not None and evaluated_text(after) is not None:
            text = f"the reference does not fail {test} although line {line} of the test is contradicted"
            finding = Finding(task_id, CONTRADICTION, TOO_WEAK, text, line, "", before, after, command(task_id))
            found.setdefault((task_id, test, line), finding)
    return list(found.values())


def execution_findings(
    tasks: Sequence[Mapping[str, Any]],
    truths: pa.Table,
    run: ResolvedRun,
    command: Callable[[str], str],
) -> list[Finding]:
    """Return a finding for each task whose ground truth fails now, or failed sometimes under ``env check --repeat``."""
    found = {}
    for one in unjudgeable_tasks(truths):
        kind = NETWORK if one.reason == "network" else ENVIRONMENT
        text = f"the reference does not pass here ({one.status}; needs {one.reason}): {one.evidence}"
        found[one.task_id] = Finding(one.task_id, EXECUTIONS, kind, text, command=command(one.task_id))
    known = {(task["task_id"], sha256_of_test(dict(task))) for task in tasks}
    for row in quarantined(read_quarantine(run.store, run.contents["environment"].value.environment_sha)):
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
