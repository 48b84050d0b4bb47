"""Dataset and sample files that studies make for their runs, kept in the store under the hash of their content."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.schemas import DERIVED_FOLDER, HUB_COLUMNS
from bigcodeflow.store import Store

Row = Mapping[str, Any]
#: Types of the columns that files of tasks may have, in their order.
_TYPES: Mapping[str, pa.DataType] = {
    **dict.fromkeys((*HUB_COLUMNS, "original_task_id", "perturbation"), pa.string()),
    "hard": pa.bool_(),
    **dict.fromkeys(("domains", "expected_tests"), pa.list_(pa.string())),
}


def hub_row(task: Row, **changed: Any) -> dict[str, Any]:
    """Return ``task``, a row of TASKS, as a row in the hub's schema; ``changed`` replaces or adds columns."""
    return {**{name: task[name] for name in (*HUB_COLUMNS, "hard")}, "libs": repr(list(task["libs"])), **changed}


def parts_of(doc_struct: str) -> dict[str, Any]:
    """Return the entries of a task's doc_struct (JSON text); empty if the text is not a JSON object."""
    try:
        found = json.loads(doc_struct or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def dataset_file(store: Store, name: str, rows: Sequence[Row]) -> str:
    """Write rows in the hub's schema to the store; return the file's local path, to use as ``dataset.source``."""
    return _derived_file(store, f"{name}.parquet", parquet_bytes(rows))


def sample_file(store: Store, name: str, programs: Iterable[tuple[str, str]]) -> str:
    """Write (task id, program) pairs as a sample file; return the file's path, to use as ``samples.source``."""
    lines = (json.dumps({"task_id": task_id, "solution": program}) + "\n" for task_id, program in programs)
    return _derived_file(store, f"{name}.jsonl", "".join(lines).encode())


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """Return rows in the hub's schema as the content of a Parquet file."""
    named, buffer = frozenset[str]().union(*rows), pa.BufferOutputStream()
    schema = pa.schema([(name, kind) for name, kind in _TYPES.items() if name in named])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd")
    return bytes(buffer.getvalue())


def _derived_file(store: Store, name: str, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()[:24]
    return str(store.write(f"{DERIVED_FOLDER}/{digest}-{name}", content).absolute())
