"""Assertions that check nothing: the reference solution still passes when they are contradicted."""

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


def finding(task_id: str, one: Alteration, command: str) -> Finding:
    """Return the finding for a contradiction that the reference does not fail."""
    text = f"the reference does not fail {one['test']} although line {one['line']} of the test is contradicted"
    return Finding(task_id, CONTRADICTION, TOO_WEAK, text, one["line"], "", one["before"], one["after"], command)
