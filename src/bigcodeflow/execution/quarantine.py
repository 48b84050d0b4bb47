"""Quarantine list of an environment: how often each task's ground truth was executed, and how often it passed.

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
    """Return the name of the quarantine list's file in a store."""
    return f"{QUARANTINE_FOLDER}/{environment_sha}.parquet"


def quarantine_path(store: Store, environment_sha: str) -> Path:
    """Return the path of an environment's quarantine list on this machine; the file may not exist."""
    return store.root / quarantine_name(environment_sha)


def read_quarantine(store: Store, environment_sha: str) -> list[Row]:
    """Return the rows of the environment's quarantine list, with the columns of QUARANTINE; empty without a list."""
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
