"""What the catalog is made from: the artifacts of a store, and SQL that reads their Parquet files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from bigcodeflow.core.schemas import METRICS, SAMPLES, SOLUTIONS, TASKS, UNKNOWN, VERDICTS
from bigcodeflow.results import models
from bigcodeflow.store import Store


class StageTable(NamedTuple):
    """A stage's artifacts, and what the catalog keeps of them."""

    stage: str
    """Folder of the store, and name of the view."""
    schema: pa.Schema
    kept: str
    """Table in schema ``stored``, and its model in ``sql/catalog/stored``."""


#: Ground truths are ordinary artifacts of the execution stage.
STAGE_TABLES = (
    StageTable("dataset", TASKS, "tasks"),
    StageTable("generation", SAMPLES, "answers"),
    StageTable("sanitizing", SOLUTIONS, "solutions"),
    StageTable("execution", VERDICTS, "outcomes"),
    StageTable("aggregation", METRICS, "metrics"),
)

#: Columns whose files say 'unknown' where nobody knows.
_UNKNOWN_IN = ("sanitizer", "environment_sha")
#: Columns in which an import puts what its tables need, such as the program for an answer that nobody kept.
_STAND_INS = ("raw_text", "attempts")

_TYPES = {
    pa.string(): "VARCHAR",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.timestamp("us"): "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Artifact:
    """One finished artifact, as the file system shows it."""

    stage: str
    key: str
    path: Path
    stamp: str
    """Size and time of the Parquet file: another one means that it is read again."""


def artifacts_of(store: Store, stage: str) -> Iterator[Artifact]:
    """Every finished artifact of a stage whose Parquet file is there."""
    for path in store.published(stage):
        try:
            status = path.stat()
        except FileNotFoundError:  # deleted, or never copied along
            continue
        yield Artifact(stage, path.parent.name, path, f"{status.st_size}-{status.st_mtime_ns}")


def rows_sql(schema: pa.Schema, artifacts: Sequence[Artifact]) -> str:
    """SELECT of all rows of the artifacts, with ``artifact`` (the key) and ``file`` in front of the columns.

    The empty side keeps today's columns there even where every artifact was written by a version that lacked one.
    What the files cannot leave empty although nobody knows it, and every NaN, is null.
    """
    columns = {"artifact": "VARCHAR", "file": "VARCHAR"} | types_of(schema)
    typed = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in columns.items())
    nothing = f"SELECT {typed} WHERE false"
    if not artifacts:
        return nothing
    files = ", ".join(quoted(models.pattern_of(artifact.path)) for artifact in artifacts)
    # DuckDB could be told the columns instead of opening every file for them, but then it also guesses the number of
    # rows, takes the wrong side of a join first, and reads all files where those of one run are wanted.
    read = f"read_parquet([{files}], union_by_name = true, filename = true)"
    key = "split_part(filename, '/', -2) AS artifact, filename AS file"
    rows = f"{nothing} UNION ALL BY NAME SELECT {key}, * EXCLUDE (filename) FROM {read}"  # noqa: S608 - quoted
    return f"SELECT * REPLACE ({', '.join(_nulls(schema))}) FROM ({rows})" if _nulls(schema) else rows  # noqa: S608


def _nulls(schema: pa.Schema) -> list[str]:
    """Expressions of the columns that may hold NaN, or stand for what an imported run does not tell."""
    made = {column.name: _without_nan(f'"{column.name}"', column.type) for column in schema}
    made |= {name: f"nullif(\"{name}\", '{UNKNOWN}')" for name in _UNKNOWN_IN if name in made}
    origin = next((name for name in ("provider", "backend") if name in made), None)
    made |= {
        name: f"CASE WHEN {origin} <> 'imported' THEN {name} END" for name in _STAND_INS if origin and name in made
    }
    return [f'{sql} AS "{name}"' for name, sql in made.items() if sql != f'"{name}"']


def _without_nan(value: str, kind: pa.DataType) -> str:
    """The value with null for NaN, which would make every sum and mean over it NaN; the value itself if it has none."""
    if pa.types.is_floating(kind):
        # Not isnan: DuckDB takes it to be false wherever Parquet's statistics, which leave NaN out, show none.
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if pa.types.is_list(kind):
        made = _without_nan("entry", kind.value_type)
        return value if made == "entry" else f"list_transform({value}, lambda entry: {made})"
    if pa.types.is_struct(kind):
        made_fields = [(one.name, _without_nan(f"{value}.{one.name}", one.type)) for one in kind]
        if any(made != f"{value}.{name}" for name, made in made_fields):
            return f"struct_pack({', '.join(f'{name} := {made}' for name, made in made_fields)})"
    return value


def types_of(schema: pa.Schema) -> dict[str, str]:
    """DuckDB's type of each column."""
    return {column.name: _type(column.type) for column in schema}


def _type(kind: pa.DataType) -> str:
    # DuckDB itself could tell, but what it takes Arrow tables with imports pandas where that is installed: a second.
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f'"{one.name}" {_type(one.type)}' for one in kind) + ")"
    return _TYPES[kind]


def quoted(text: str) -> str:
    """The text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
