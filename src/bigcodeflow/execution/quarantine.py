"""The quarantine list of an environment: counts executions, and shows ground truths that do not always pass there.

``{store}/quarantine/{environment_sha}.parquet`` is written by ``execution.environment_check`` and read by every run.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import read_table
from bigcodeflow.core.schemas import QUARANTINE
from bigcodeflow.store import Store

Row = dict[str, Any]
QUARANTINE_FOLDER = "quarantine"


def quarantine_name(environment_sha: str) -> str:
    """Return the name of the list's file in a store."""
    return f"{QUARANTINE_FOLDER}/{environment_sha}.parquet"


def quarantine_path(store: Store, environment_sha: str) -> Path:
    """Return the path of an environment's list on this machine; the file may not exist."""
    return store.root / quarantine_name(environment_sha)


def read_quarantine(store: Store, environment_sha: str) -> list[Row]:
    """Return all rows of the environment's list, by task; columns as in QUARANTINE. Empty if nothing was checked."""
    path = store.file(quarantine_name(environment_sha))
    if path is None:
        return []
    try:
        rows: list[Row] = read_table(path, schema=QUARANTINE).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ArtifactError(
            f"{path}: is no quarantine list ({' '.join(str(error).split())}): delete it and run "
            "`bigcodeflow env check --repeat` again"
        ) from error
    return rows


def quarantined(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of tasks whose ground truth failed at least once."""
    return [row for row in rows if row["passes"] < row["executions"]]
