"""SQL models over Parquet files: each ``sql/*.sql`` holds one SELECT and becomes a view or table of its file's name."""

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigcodeflow.core.errors import ArtifactError

Row = dict[str, Any]

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SQL = Path(__file__).with_name("sql")
_ROWS_AT_ONCE = 2_000


@contextmanager
def database() -> Iterator["DuckDBPyConnection"]:
    """An in-memory database to read run after run in: opening one for each run costs 30 ms."""
    import duckdb  # costs 0.15 s, which a cached run need not pay

    with duckdb.connect() as connection:
        yield connection


@contextmanager
def views(connection: "DuckDBPyConnection", **paths: Path) -> Iterator["DuckDBPyConnection"]:
    """The database with a view over each Parquet file, named ``source_{keyword}``, in place of earlier ones.

    An ArtifactError says that a file is missing, is not Parquet, or lacks a column that a model reads.
    """
    import duckdb

    try:
        for name, path in paths.items():
            connection.read_parquet(pattern_of(path)).create_view(f"source_{name}", replace=True)
        yield connection
    except duckdb.Error as error:
        files = ", ".join(str(path) for path in paths.values())
        raise ArtifactError(
            f"tables cannot be read ({' '.join(str(error).split())}): run the stages that wrote {files} again"
        ) from error


@contextmanager
def sources(**paths: Path) -> Iterator["DuckDBPyConnection"]:
    """An in-memory database with ``views`` over the files; the same errors."""
    with database() as connection, views(connection, **paths):
        yield connection


def rows_of(connection: "DuckDBPyConnection", model: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    """The model's rows, each as a mapping of column to value."""
    return list(rows_from(connection.execute(sql_of(model), dict(parameters or {}))))


def rows_from(cursor: "DuckDBPyConnection") -> Iterator[Row]:
    """The rows of an executed statement, read in portions."""
    names = [column[0] for column in cursor.description or ()]
    while batch := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from (dict(zip(names, row, strict=True)) for row in batch)


def sql_of(model: str) -> str:
    """The SELECT of a model such as 'task_counts' or 'catalog/failures'."""
    return (_SQL / f"{model}.sql").read_text()


def pattern_of(path: Path | str) -> str:
    """The path as DuckDB must be given it: a name such as ``run[1]`` would else be read as a pattern."""
    return glob.escape(str(path))
