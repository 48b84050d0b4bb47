"""Tasks that do not judge reliably: ground truths executed again and again, and the list of those that ever failed.

``{store}/quarantine/{environment_sha}.parquet`` counts every fresh execution. Executions are numbered from the count in
that file on, so that an interrupted check goes on where it stopped and a finished one is counted once, whatever dies.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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


class Identity(NamedTuple):
    """What a row of the list is about."""

    task_id: str
    test_sha256: str


class _Repetitions(NamedTuple):
    """What one task's ground truth is to be executed, and how many executions were counted before."""

    before: Row
    items: tuple[WorkItem, ...]


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
    planned = _plan(tasks, times, config, environment, store)
    items = [item for repetitions in planned.values() for item in repetitions.items]
    ledger_folder = store.workspace(_STAGE, sha)
    with store.synchronized(ledger_folder, LogFiles.VERDICTS):
        found = verdicts_of(
            items, config=config, environment=environment, ledger_folder=ledger_folder, progress=progress
        )
    final = {key: verdict for key, verdict in found.items() if verdict["status"] != "infra_error"}
    counted = {identity: _counted(identity, repetitions, final) for identity, repetitions in planned.items()}
    # Two checks on one machine wait for each other here; on two machines the one that writes last counts.
    with locked(store.root / _STAGE / ".lock"):
        rows = _merged({_identity(row): row for row in read_quarantine(store, sha)}, planned, counted)
        _write(store, sha, rows.values())
    store.discard(ledger_folder)
    return [rows[identity] for identity in planned if identity in rows]


def _plan(
    tasks: pa.Table, times: int, config: ExecutionConfig, environment: Environment, store: Store
) -> dict[Identity, _Repetitions]:
    before = {_identity(row): row for row in read_quarantine(store, environment.environment_sha)}
    costs = VerdictIndex(store).costs()
    truths = plan_ground_truths(tasks, config=config, environment=environment, costs=costs)
    planned = {}
    for task, truth in zip(tasks.to_pylist(), truths, strict=True):
        identity = Identity(task["task_id"], sha256_of_test(task))
        row = before.get(identity)
        if row is None or row["harness_version"] != HARNESS_VERSION:
            counts = {"harness_version": HARNESS_VERSION, "executions": 0, "passes": 0}
            row = {**identity._asdict(), **counts, "statuses": [], "reason": "", "evidence": ""}
        numbers = range(row["executions"], row["executions"] + times)
        planned[identity] = _Repetitions(row, tuple(numbered(truth.item, number) for number in numbers))
    return planned


def _counted(identity: Identity, repetitions: _Repetitions, lines: Mapping[str, Row]) -> Row:
    """The task's row with the new executions added."""
    mine = [lines[item.verdict_key] for item in repetitions.items if item.verdict_key in lines]
    statuses = [line["status"] for line in mine]
    row = repetitions.before | {
        "executions": repetitions.before["executions"] + len(mine),
        "passes": repetitions.before["passes"] + statuses.count("pass"),
        "statuses": sorted({*repetitions.before["statuses"], *statuses}),
    }
    failures = [line for line in mine if line["status"] != "pass"]
    if failures:
        why = explain(failures[-1] | {"task_id": identity.task_id})
        row |= {"reason": why.reason, "evidence": why.evidence}
    return row


def _merged(
    now: Mapping[Identity, Row], planned: Mapping[Identity, _Repetitions], counted: Mapping[Identity, Row]
) -> dict[Identity, Row]:
    """The list with the counted rows in it, but for those that a twin of this check has counted meanwhile."""
    merged = dict(now)
    for identity, row in counted.items():
        current = now.get(identity)
        is_ours = current is None or current["harness_version"] != HARNESS_VERSION
        if row["executions"] and (is_ours or current == planned[identity].before):
            merged[identity] = row
    return merged


def _write(store: Store, environment_sha: str, rows: Iterable[Row]) -> None:
    table = table_of(list(rows), schema=QUARANTINE).sort_by([("task_id", "ascending"), ("test_sha256", "ascending")])
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    store.write(_name(environment_sha), sink.getvalue().to_pybytes())


def _name(environment_sha: str) -> str:
    return f"{_STAGE}/{environment_sha}.parquet"


def _identity(row: Row) -> Identity:
    return Identity(row["task_id"], row["test_sha256"])
