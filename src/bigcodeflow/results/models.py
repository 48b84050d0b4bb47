"""SQL models over Parquet files: each file below ``sql/`` is one SELECT statement, for a query, a view or a table."""

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
#: Columns that tables of earlier versions lack; they are null there.
_LATER_COLUMNS = {"solutions": "SELECT NULL::BOOLEAN AS shortened WHERE false UNION ALL BY NAME"}


@cache
def _database_of_process() -> "DuckDBPyConnection":
    import duckdb  # takes 0.15 s, which a cached run can save

    return duckdb.connect()


@contextmanager
def database() -> Iterator["DuckDBPyConnection"]:
    """Open a connection to the in-memory database of this process; callers must create only temporary objects.

    Temporary objects disappear with the connection. A separate database for each connection would cost 30 ms.
    """
    with _database_of_process().cursor() as connection:
        yield connection


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """Yield ``path``, or the path of a copy if ``path`` contains a backslash, which DuckDB would read as a slash."""
    if "\\" not in str(path):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        with suppress(FileNotFoundError):  # DuckDB will report it
            shutil.copyfile(path, copy)
        yield copy


@contextmanager
def sources(**paths: Path) -> Iterator["DuckDBPyConnection"]:
    """Open a connection with a view ``source_NAME`` over the Parquet file of each keyword argument NAME.

    Raises ArtifactError if a file is missing, is not Parquet, or lacks a column that the SQL query reads.
    """
    import duckdb

    try:
        with database() as connection:
            for name, path in paths.items():
                rows = f"{_LATER_COLUMNS.get(name, '')} FROM {duckdb_source([path])}"
                connection.execute(f"CREATE TEMP VIEW source_{name} AS {rows}")
            yield connection
    except duckdb.Error as error:
        files = ", ".join(str(path) for path in paths.values())
        raise ArtifactError(
            f"tables cannot be read ({' '.join(str(error).split())}): run the stages that wrote {files} again"
        ) from error


def rows_of(connection: "DuckDBPyConnection", model: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    """Run the query in the SQL file ``model`` of ``sql/``; return its rows, each as a mapping of column to value."""
    return list(rows_from(connection.execute(sql_of(model), dict(parameters or {}))))


def rows_from(cursor: "DuckDBPyConnection") -> Iterator[Row]:
    """Yield the rows of an executed statement as mappings of column to value; fetch them in batches."""
    names = [column[0] for column in cursor.description or ()]
    while batch := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from (dict(zip(names, row, strict=True)) for row in batch)


def sql_of(model: str) -> str:
    """Return the statement in the SQL file ``model`` of ``sql/``, such as 'task_counts' or 'catalog/failures'."""
    return (_SQL / f"{model}.sql").read_text(encoding="utf-8")
