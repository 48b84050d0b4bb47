"""``results.duckdb``: every finished artifact of a store as a view, every recorded run as a row.

It holds no data of its own: views read the Parquet files where they lie, and the whole file can be rebuilt at any time.
"""

import fcntl
import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.artifacts import Store
from bigcodeflow.errors import ArtifactError
from bigcodeflow.results import models
from bigcodeflow.schemas import METRICS, SAMPLES, SOLUTIONS, TASKS, VERDICTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CATALOG_NAME = "results.duckdb"

#: Stage folder → schema of its artifacts. Ground truths are ordinary artifacts of the execution stage.
_STAGES = {
    "dataset": TASKS,
    "generation": SAMPLES,
    "sanitizing": SOLUTIONS,
    "execution": VERDICTS,
    "aggregation": METRICS,
}
#: Views over runs and stages; a later one may read an earlier one.
_VIEWS = ("ground_truths", "verdicts", "failures", "pass_at_k")

#: Grain: one row a run record. Times are UTC; a key is null where the run did not reach the stage.
_RUN_COLUMNS: dict[str, pa.DataType] = {
    "record": pa.string(),  # file name of the record without .json; unique
    "run": pa.string(),  # name of the run, which several records may share
    "started_at": pa.timestamp("us"),
    "finished_at": pa.timestamp("us"),
    "config": pa.string(),  # JSON text
    "dataset_key": pa.string(),
    "generation_key": pa.string(),
    "sanitizing_key": pa.string(),
    "ground_truth_key": pa.string(),
    "execution_key": pa.string(),
    "aggregation_key": pa.string(),
}


class _RunRecord(BaseModel):
    model_config = ConfigDict(extra="ignore")

    run: str
    started_at: AwareDatetime
    finished_at: AwareDatetime | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    artifacts: dict[str, str | None] = Field(default_factory=dict)


def rebuild_catalog(store_root: Path) -> Path:
    """Build ``{store_root}/results.duckdb`` anew over what the store holds now, and return its path.

    Views ``dataset``, ``generation``, ``sanitizing``, ``execution`` and ``aggregation`` hold the rows of all finished
    artifacts of a stage, with the artifact's key in the column ``artifact``; table ``runs`` one row a record in
    ``runs/*.json``; views ``ground_truths``, ``verdicts``, ``failures`` and ``pass_at_k`` what recorded runs found.
    The file appears by one rename, so that open readers keep the catalog that they opened.

    Raises:
        ArtifactError: a run record or an artifact that cannot be read.
    """
    import duckdb  # costs 0.15 s, which a run that rebuilds nothing need not pay

    store = Store(store_root)
    store.root.mkdir(parents=True, exist_ok=True)
    target = store.root / CATALOG_NAME
    aside = target.with_name(f".{CATALOG_NAME}.{uuid.uuid4().hex}.tmp")
    # Without the lock a slow rebuild could replace a newer catalog by one that lacks the newest run.
    with _locked(store.root / f".{CATALOG_NAME}.lock"):
        try:
            with duckdb.connect(aside) as connection:
                _fill(connection, store)
            aside.replace(target)
        except duckdb.Error as error:
            raise ArtifactError(
                f"{target} cannot be built ({' '.join(str(error).split())}): delete the artifact folder that is named "
                "here and run its stage again"
            ) from error
        finally:
            aside.unlink(missing_ok=True)
            aside.with_name(f"{aside.name}.wal").unlink(missing_ok=True)
    return target


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fill(connection: "DuckDBPyConnection", store: Store) -> None:
    for stage, schema in _STAGES.items():
        connection.execute(f'CREATE VIEW "{stage}" AS {_stage_sql(connection, schema, store.published(stage))}')
    records = pa.Table.from_pylist(
        [_read_record(path) for path in sorted(store.root.glob("runs/*.json"))], schema=pa.schema(_RUN_COLUMNS)
    )
    connection.register("run_records", records)
    connection.execute("CREATE TABLE runs AS SELECT * FROM run_records ORDER BY started_at, record")
    connection.unregister("run_records")
    for view in _VIEWS:
        connection.execute(f'CREATE VIEW "{view}" AS {models.sql_of(f"catalog/{view}")}')


def _stage_sql(connection: "DuckDBPyConnection", schema: pa.Schema, parts: Sequence[Path]) -> str:
    """All rows of all parts; typed columns without rows where there are no parts.

    The empty side keeps today's columns there even where every artifact was written by a version that lacked one.
    """
    empty = connection.from_arrow(schema.empty_table())
    columns = "".join(
        f', CAST(NULL AS {kind}) AS "{name}"' for name, kind in zip(empty.columns, empty.types, strict=True)
    )
    typed = f"SELECT CAST(NULL AS VARCHAR) AS artifact{columns} WHERE false"
    if not parts:
        return typed
    files = ", ".join("'" + models.pattern_of(part).replace("'", "''") + "'" for part in parts)
    read = f"read_parquet([{files}], union_by_name = true, filename = true)"
    parent = "split_part(filename, '/', -2)"
    return f"{typed} UNION ALL BY NAME SELECT {parent} AS artifact, * EXCLUDE (filename) FROM {read}"  # noqa: S608 - quoted


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = _RunRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ArtifactError(
            f"{path}: is not a run record ({' '.join(str(error).split())}): delete it, or run that run again"
        ) from error
    return {
        "record": path.stem,
        "run": record.run,
        "started_at": _utc(record.started_at),
        "finished_at": _utc(record.finished_at),
        "config": json.dumps(record.config, sort_keys=True),
        **{f"{stage}_key": key for stage, key in record.artifacts.items()},
    }


def _utc(moment: datetime | None) -> datetime | None:
    """UTC without zone: DuckDB's Python client cannot hand out zoned times without a further package."""
    return moment and moment.astimezone(UTC).replace(tzinfo=None)
