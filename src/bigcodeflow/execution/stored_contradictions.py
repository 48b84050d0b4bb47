"""Contradictions (altered texts of tests) validated in an environment, kept in the store or shipped with the product.

``{store}/contradictions/{environment_sha}.parquet`` holds rows of the CONTRADICTIONS schema for one environment. Rows
for some environments ship with the product (``data/validated_tests``); other tasks are validated at first use.
"""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import locked
from bigcodeflow.core.parquet import read_table
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import CONTRADICTIONS, table_of
from bigcodeflow.judge.integrity.contradictions import Contradictions, Row
from bigcodeflow.store import Store

_STAGE = "contradictions"
_SHIPPED = "data/validated_tests"


class StoredContradictions(Contradictions):
    """Contradictions of an environment: read from the store at first use; `write` adds new rows to the stored rows."""

    def __init__(self, store: Store | None, environment_sha: str, task_ids: Collection[str] | None = None) -> None:
        """Set the source of the rows; nothing is read yet.

        Args:
            store: store that holds the table; None keeps new rows in this process only.
            environment_sha: environment of the rows.
            task_ids: tasks whose shipped rows are needed; None: all tasks.
        """
        self._store, self._name = store, f"{_STAGE}/{environment_sha}.parquet"
        self._environment_sha, self._task_ids = environment_sha, task_ids
        self._new: dict[str, Row] = {}

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Known rows by the column ``source``, the hash of the data from which a row's text was made.

        Raises:
            ArtifactError: the store's file is no table of contradictions.
        """
        file = shipped(_SHIPPED) / f"{self._environment_sha}.parquet"
        wanted = None if self._task_ids is None else pc.field("task_id").isin(list(self._task_ids))
        return (_rows_of(file, filters=wanted) if file.is_file() else {}) | self._read()

    def add(self, row: Row) -> None:
        super().add(row)
        self._new[row["source"]] = row

    def write(self) -> None:
        """Add new rows to the stored table. Writers on a machine take turns; of two machines, the last writer wins."""
        if self._store is None or not self._new:
            return
        with locked(self._store.root / _STAGE / ".lock"):
            rows = sorted((self._read() | self._new).values(), key=lambda row: (row["task_id"], row["variant"]))
            sink = pa.BufferOutputStream()
            pq.write_table(table_of(rows, schema=CONTRADICTIONS), sink, compression="zstd")
            self._store.write(self._name, sink.getvalue().to_pybytes())
        self._new = {}

    def _read(self) -> dict[str, Row]:
        path = self._store.file(self._name) if self._store else None
        return _rows_of(path) if path else {}


def _rows_of(path: Path, **options: Any) -> dict[str, Row]:
    """Return the rows of a CONTRADICTIONS table by ``source``; return {} if the file has other columns."""
    try:
        if pq.read_schema(path).names != CONTRADICTIONS.names:
            return {}
        table = read_table(path, schema=CONTRADICTIONS, **options)
    except (OSError, pa.ArrowException) as error:
        problem = f"{path}: is no table of contradictions ({' '.join(str(error).split())})"
        raise ArtifactError(f"{problem}: delete the file, and the next run makes it again") from error
    return {row["source"]: row for row in table.to_pylist()}
