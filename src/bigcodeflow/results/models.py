"""SQL models over Parquet files: each ``sql/*.sql`` holds one SELECT and becomes a view or table of its file's name."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import duckdb_source

Row = dict[str, Any]

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SQL = Path(__file__).with_name("sql")
_ROWS_AT_ONCE = 2_000
#: Columns that tables of earlier versions lack, where they are null.
_LATER_COLUMNS = {"solutions": "SELECT NULL::BOOLEAN AS shortened WHERE false UNION ALL BY NAME"}


@cache
def _database_of_process() -> "DuckDBPyConnection":
    import duckdb  # costs 0.15 s, which a cached run need not pay

    return duckdb.connect()


@contextmanager
def database() -> Iterator["DuckDBPyConnection"]:
    """A connection to this process's in-memory database; it must create temporary objects only, which end with it.

    To open a database for each would cost 30 ms.
    """
    with _database_of_process().cursor() as connection:
        yield connection


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """A database's file as DuckDB can open it for reading: a copy where it would read a backslash as a slash."""
    if "\\" not in str(path):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        with suppress(FileNotFoundError):  # DuckDB says so
            shutil.copyfile(path, copy)
        yield copy


@contextmanager
def views(connection: "DuckDBPyConnection", **paths: Path) -> Iterator["DuckDBPyConnection"]:
    """The connection with a view over each Parquet file, named ``source_{keyword}``, in place of earlier ones.

    An ArtifactError says that a file is missing, is not Parquet, or lacks a column that a model reads.
    """
    import duckdb

    try:
        for name, path in paths.items():
            rows = f"{_LATER_COLUMNS.get(name, '')} FROM {duckdb_source([path])}"
            connection.execute(f"CREATE OR REPLACE TEMP VIEW source_{name} AS {rows}")
        yield connection
    except duckdb.Error as error:
        files = ", ".join(str(path) for path in paths.values())
        raise ArtifactError(
            f"tables cannot be read ({' '.join(str(error).split())}): run the stages that wrote {files} again"
        ) from error


@contextmanager
def sources(**paths: Path) -> Iterator["DuckDBPyConnection"]:
    """A connection with ``views`` over the files; the same errors."""
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
    return (_SQL / f"{model}.sql").read_text(encoding="utf-8")
