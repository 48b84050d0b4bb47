"""Tasks that do not judge reliably: ground truths executed again and again, and the list of those that ever failed.

``{store}/quarantine/{environment_sha}.parquet`` counts every fresh execution. Executions are numbered from the count in
that file on, so that an interrupted check goes on where it stopped and a finished one is counted once, whatever dies.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import QUARANTINE, table_of
from bigcodeflow.environments import Environment
from bigcodeflow.execution.engine import Progress
from bigcodeflow.execution.environment_check import explain
from bigcodeflow.execution.evaluation import plan_ground_truths, verdicts_of
from bigcodeflow.execution.items import WorkItem, numbered
from bigcodeflow.execution.planning import sha256_of_test
from bigcodeflow.execution.verdict_index import VerdictIndex
from bigcodeflow.sandbox.protocol import HARNESS_VERSION
from bigcodeflow.store import LogFiles, Store, locked

_STAGE = "quarantine"

Row = dict[str, Any]


_Identity = tuple[str, str]
"""Of a row: task_id and test_sha256."""


def quarantine_path(store: Store, environment_sha: str) -> Path:
    """Where the list of an environment lies on this machine, or would lie."""
    return store.root / _name(environment_sha)


def read_quarantine(store: Store, environment_sha: str) -> list[Row]:
    """Every row counted for the environment, by task; columns as in QUARANTINE. Empty where nothing was checked.

    Raises:
        ArtifactError: the list cannot be read.
    """
    path = store.file(_name(environment_sha))
    if path is None:
        return []
    try:
        rows: list[Row] = pq.read_table(path, schema=QUARANTINE).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ArtifactError(
            f"{path}: is no quarantine list ({' '.join(str(error).split())}): delete it and run "
            "`bigcodeflow env check --repeat` again"
        ) from error
    return rows


def quarantined(rows: Iterable[Row]) -> list[Row]:
    """Rows of tasks whose ground truth failed at least once."""
    return [row for row in rows if row["passes"] < row["executions"]]


def repeat_ground_truths(
    tasks: pa.Table,
    *,
    times: int,
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    progress: Progress | None = None,
) -> list[Row]:
    """Execute every ground truth afresh, add the outcomes to the environment's list, and return the tasks' rows of it.

    Args:
        tasks: rows of the TASKS schema.
        store: where the list is kept, and the ledger while the work is unfinished.

    Raises:
        ExecutionError: the work could not be finished; what is finished is kept.
        ArtifactError: the list cannot be read.
    """
    sha = environment.environment_sha
    truths = plan_ground_truths(tasks, config=config, environment=environment, costs=VerdictIndex(store).costs())
    known, planned = _rows(store, sha), dict[_Identity, tuple[Row, list[WorkItem]]]()
    for task, truth in zip(tasks.to_pylist(), truths, strict=True):
        identity = task["task_id"], sha256_of_test(task)
        row = known.get(identity)
        if row is None or row["harness_version"] != HARNESS_VERSION:
            row = {"task_id": identity[0], "test_sha256": identity[1], "harness_version": HARNESS_VERSION}
            row |= {"executions": 0, "passes": 0, "statuses": [], "reason": "", "evidence": ""}
        numbers = range(row["executions"], row["executions"] + times)
        planned[identity] = row, [numbered(truth.item, number) for number in numbers]
    items = [item for _, repetitions in planned.values() for item in repetitions]
    folder = store.workspace(_STAGE, sha)
    with store.synchronized(folder, LogFiles.VERDICTS):
        found = verdicts_of(items, config=config, environment=environment, ledger_folder=folder, progress=progress)
    # Two checks on one machine wait for each other here; on two machines the one that writes last counts.
    with locked(store.root / _STAGE / ".lock"):
        rows = _rows(store, sha)
        for identity, (before, repetitions) in planned.items():
            counted = _counted(before, [found[item.verdict_key] for item in repetitions])
            current = rows.get(identity)
            # Unless a twin of this check has counted meanwhile.
            is_ours = current is None or current["harness_version"] != HARNESS_VERSION or current == before
            if counted["executions"] and is_ours:
                rows[identity] = counted
        table = table_of(rows.values(), schema=QUARANTINE)
        sink = pa.BufferOutputStream()
        ordered = table.sort_by([("task_id", "ascending"), ("test_sha256", "ascending")])
        pq.write_table(ordered, sink, compression="zstd")
        store.write(_name(sha), sink.getvalue().to_pybytes())
    store.discard(folder)
    return [rows[identity] for identity in planned if identity in rows]


def _counted(before: Row, verdicts: Iterable[Row]) -> Row:
    """A task's row with new executions added."""
    final = [verdict for verdict in verdicts if verdict["status"] != "infra_error"]
    statuses = [verdict["status"] for verdict in final]
    row = before | {
        "executions": before["executions"] + len(final),
        "passes": before["passes"] + statuses.count("pass"),
        "statuses": sorted({*before["statuses"], *statuses}),
    }
    failures = [verdict for verdict in final if verdict["status"] != "pass"]
    if failures:
        why = explain(failures[-1] | {"task_id": before["task_id"]})
        row |= {"reason": why.reason, "evidence": why.evidence}
    return row


def _rows(store: Store, environment_sha: str) -> dict[_Identity, Row]:
    return {(row["task_id"], row["test_sha256"]): row for row in read_quarantine(store, environment_sha)}


def _name(environment_sha: str) -> str:
    return f"{_STAGE}/{environment_sha}.parquet"
