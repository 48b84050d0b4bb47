"""Dataset and sample files that studies make for their runs, kept in the store under the hash of their content."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.schemas import DERIVED_FOLDER
from bigcodeflow.store import Store


def dataset_file(store: Store, name: str, content: bytes) -> str:
    """Write a Parquet file in the hub's schema to the store; return its local path for ``dataset.source``."""
    return _derived_file(store, f"{name}.parquet", content)


def sample_file(store: Store, name: str, programs: Iterable[tuple[str, str]]) -> str:
    """Write (task id, program) pairs in order as a sample file; return its local path for ``samples.source``."""
    lines = (json.dumps({"task_id": task_id, "solution": program}) + "\n" for task_id, program in programs)
    return _derived_file(store, f"{name}.jsonl", "".join(lines).encode())


def parquet_bytes(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> bytes:
    """Return the rows as the content of a Parquet file."""
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer, compression="zstd")
    return bytes(buffer.getvalue())


def _derived_file(store: Store, name: str, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()[:24]
    return str(store.write(f"{DERIVED_FOLDER}/{digest}-{name}", content).absolute())
