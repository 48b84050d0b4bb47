"""What the views mean: comments in the database, taken from where each column is defined, and read back for people."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results import models
from bigcodeflow.results.catalog.sources import STAGE_TABLES, quoted
from bigcodeflow.results.catalog.tables import GRAINS, LEFT_OUT, RUNS, VIEWS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HEADER = re.compile(r"^-- (Grain: .+)$", re.MULTILINE)
_COLUMN = re.compile(r"^-- (\w+): (.+)$", re.MULTILINE)
_SCHEMAS = {table.stage: table.schema for table in STAGE_TABLES}
#: What people ask for first comes first.
_ORDER = (
    *("runs", "pass_at_k", "metrics", "solve_rate", "failure_counts", "failures", "costs"),
    *("verdicts", "samples", "solutions", "ground_truths"),
    *(*_SCHEMAS, "left_out"),
)
_TABLES = {"runs": RUNS, "left_out": LEFT_OUT}


class Column(NamedTuple):
    """One column of a view."""

    name: str
    type: str
    meaning: str


class Description(NamedTuple):
    """One view or table of the catalog."""

    name: str
    grain: str
    columns: tuple[Column, ...]


class LeftOut(NamedTuple):
    """A run, or an artifact of no run, that the catalog cannot show."""

    record: str | None
    artifact: str
    key: str
    reason: str


def comment_on(connection: "DuckDBPyConnection") -> None:
    """Give every view, table and column of the catalog its comment, so that any client shows it."""
    kinds = dict(
        connection.execute(
            "SELECT table_name, CASE table_type WHEN 'VIEW' THEN 'VIEW' ELSE 'TABLE' END "
            "FROM information_schema.tables WHERE table_schema = 'main' AND table_catalog = current_database()"
        ).fetchall()
    )
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND database_name = current_database() AND NOT internal"
    ).fetchall()
    meanings = {name: dict(_meanings(name)) for name in kinds}
    statements = [f'COMMENT ON {kind} "{name}" IS {quoted(_grain(name))}' for name, kind in kinds.items()]
    statements += [f'COMMENT ON COLUMN "{name}"."{one}" IS {quoted(meanings[name][one])}' for name, one in columns]
    connection.execute(";".join(statements))


def describe_catalog(path: Path) -> tuple[list[Description], list[LeftOut]]:
    """The views of a catalog with their columns, and what the catalog leaves out.

    Raises:
        ArtifactError: it cannot be opened.
    """
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as connection:
            grains = connection.execute(
                "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' UNION ALL "
                "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"
            ).fetchall()
            columns = connection.execute(
                "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
                "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
            ).fetchall()
            left_out = connection.execute("SELECT record, artifact, key, reason FROM left_out").fetchall()
    except duckdb.Error as error:
        raise ArtifactError(f"{path} cannot be read ({' '.join(str(error).split())}): build it again") from error
    found = [
        Description(name, grain or "", tuple(Column(row[1], row[2], row[3] or "") for row in columns if row[0] == name))
        for name, grain in grains
    ]
    found.sort(key=lambda one: _ORDER.index(one.name))
    return found, [LeftOut(*row) for row in left_out]


def _grain(name: str) -> str:
    if name in GRAINS:
        return GRAINS[name]
    found = _HEADER.search(models.sql_of(f"catalog/{name}"))
    return found.group(1) if found else ""


def _meanings(name: str) -> Iterator[tuple[str, str]]:
    """Meanings of columns; of several for one name the last counts, which is what the view's own model states."""
    yield "artifact", "key of the artifact, and name of its folder"
    yield "file", "path of the artifact's Parquet file"
    own = _TABLES.get(name) or _SCHEMAS[VIEWS.get(name, name)]
    for schema in (*_SCHEMAS.values(), RUNS, own):
        for column in schema:
            yield column.name, (column.metadata or {}).get(b"meaning", b"").decode()
    if name in _SCHEMAS:
        for told in ("model", "split", "subset"):
            yield told, "of the recorded runs that have the artifact; null where none has it, or they differ"
    if name in VIEWS:
        for found in _COLUMN.finditer(models.sql_of(f"catalog/{name}")):
            yield found.group(1), found.group(2)
