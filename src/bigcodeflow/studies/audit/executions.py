"""Tasks whose reference solution does not always pass, and what they need."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from bigcodeflow.execution.environment_check import unjudgeable_tasks
from bigcodeflow.execution.items import sha256_of_test
from bigcodeflow.execution.quarantine import quarantined, read_quarantine
from bigcodeflow.store import Store
from bigcodeflow.studies.audit.findings import ENVIRONMENT, EXECUTIONS, FLAKY, NETWORK, Finding


def findings(
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
    for row in _suspects(tasks, quarantined(read_quarantine(store, environment_sha))):
        text = f"the reference passed {row['passes']:,} of {row['executions']:,} executions: {row['evidence']}"
        if row["passes"]:
            found[row["task_id"]] = Finding(row["task_id"], EXECUTIONS, FLAKY, text, command=command(row["task_id"]))
    return list(found.values())


def _suspects(tasks: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    known = {(task["task_id"], sha256_of_test(dict(task))) for task in tasks}
    return [row for row in rows if (row["task_id"], row["test_sha256"]) in known]
