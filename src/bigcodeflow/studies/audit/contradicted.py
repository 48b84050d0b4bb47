"""Contradictions of a test that its own reference solution passes: assertions that check nothing."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from bigcodeflow.execution import evaluation
from bigcodeflow.execution.integrity.operands import evaluated_text
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import Store
from bigcodeflow.studies.audit.findings import CONTRADICTION, TOO_WEAK, Finding

Alteration = Mapping[str, Any]


def undetected(
    tasks: pa.Table, truths: pa.Table, run: ResolvedRun, store: Store, listener: Listener
) -> list[tuple[str, Alteration]]:
    """Task id and alteration of each contradicted literal of a test that its reference does not fail, each once."""
    rows = evaluation.undetected_contradictions(
        tasks,
        truths,
        config=run.config.execution,
        environment=run.contents["environment"].value,
        store=store,
        progress=listener.begin("contradictions"),
    )
    # Another value of an expression may be no other value: a frame of one row is the same in reverse order.
    rows = [row for row in rows if all(evaluated_text(row[1][name]) is not None for name in ("before", "after"))]
    rows.sort(key=lambda row: (row[0], row[1]["line"], row[1]["after"]))
    return list({(task_id, one["test"], one["line"]): (task_id, one) for task_id, one in reversed(rows)}.values())[::-1]


def finding(task_id: str, one: Alteration, command: str) -> Finding:
    """The finding that such a contradiction is."""
    text = f"the reference does not fail {one['test']} although line {one['line']} of the test is contradicted"
    return Finding(task_id, CONTRADICTION, TOO_WEAK, text, one["line"], "", one["before"], one["after"], command)
