"""Descriptions of the catalog's tables, views and columns, which the database stores as comments."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import METRICS, SAMPLES, SOLUTIONS, TASKS, VERDICTS, study_schemas
from bigcodeflow.results import models

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class StageTable(NamedTuple):
    """A stage, and the catalog's table of the stage's artifacts."""

    stage: str
    """Name of the stage, of its folder in the store, and of its view in the catalog."""
    schema: pa.Schema
    kept: str
    """Name of the table in schema ``stored``, and of the table's model in ``sql/catalog/stored``."""


#: Ground truths are ordinary artifacts of the execution stage.
STAGE_TABLES = (
    StageTable("dataset", TASKS, "tasks"),
    StageTable("generation", SAMPLES, "answers"),
    StageTable("sanitizing", SOLUTIONS, "solutions"),
    StageTable("execution", VERDICTS, "verdicts"),
    StageTable("aggregation", METRICS, "metrics"),
)


def _schema(*columns: tuple[str, pa.DataType, str]) -> pa.Schema:
    """Build a schema from (name, type, meaning) of each column; the meaning is stored as the field's metadata."""
    return pa.schema([pa.field(name, kind, metadata={"meaning": meaning}) for name, kind, meaning in columns])


_TEXT, _TIME = pa.string(), pa.timestamp("us")
_SPLIT = ("split", _TEXT, "complete or instruct")
_SUBSET = ("subset", _TEXT, "full or hard")

#: Grain: one row per run record. Times are UTC; a key is null if the run did not reach the stage.
RUNS = _schema(
    ("record", _TEXT, "file name of the run's record without .json; unique, in the order of time"),
    ("run", _TEXT, "name of the run, which several records may share"),
    ("model", _TEXT, "as the original's file names state it"),
    _SPLIT,
    _SUBSET,
    ("split_mismatch", pa.bool_(), "the model was asked prompts of another split: no score counts; null: not known"),
    ("contradicted", pa.bool_(), "its tasks show tests that contradict their descriptions: no score counts"),
    ("task_variants", pa.bool_(), "its tasks are variants of other tasks, see docs/perturbation.md: no score counts"),
    ("selection", _TEXT, "how many of the subset's tasks were judged, such as '60 of 1,140 tasks'; empty: all"),
    ("setting", _TEXT, "how the model was asked and its answers were judged, without the server's address"),
    ("setting_key", _TEXT, "identity of the setting and the address, 12 hex digits; the same in several runs"),
    ("tags", pa.list_(_TEXT), "given by `bigcodeflow runs tag`"),
    ("note", _TEXT, "given by `bigcodeflow runs note`; empty: none"),
    ("archived", pa.bool_(), "lists and boards leave the run out"),
    ("environment_sha", _TEXT, "libraries and data of the environment that executed; null: not known"),
    ("harness_version", pa.int32(), "version of the judge; null: not known"),
    ("started_at", _TIME, "UTC"),
    ("finished_at", _TIME, "UTC"),
    ("config", _TEXT, "the run's whole configuration as JSON text"),
    ("dataset_key", _TEXT, "artifact of the tasks"),
    ("generation_key", _TEXT, "artifact of the answers"),
    ("sanitizing_key", _TEXT, "artifact of the programs"),
    ("ground_truth_key", _TEXT, "artifact of the verdicts of the tasks' own solutions; null: not known"),
    ("execution_key", _TEXT, "artifact of the samples' verdicts"),
    ("aggregation_key", _TEXT, "artifact of the metrics"),
)

#: Grain: one row per run record and missing or damaged artifact of it, or per damaged artifact without a run.
LEFT_OUT = _schema(
    ("record", _TEXT, "record of the run that is left out for it; null: the artifact is of no run"),
    ("run", _TEXT, "name of the run"),
    ("model", _TEXT, "the run's model"),
    _SPLIT,
    _SUBSET,
    ("artifact", _TEXT, "dataset, generation, sanitizing, ground_truth, execution or aggregation"),
    ("key", _TEXT, "the artifact's key, and the name of its folder"),
    ("reason", _TEXT, "what is wrong with it"),
)

#: Grain: one row per result of a study, from its manifest.
STUDY_RESULTS = _schema(
    ("study", _TEXT, "name of the view with the result's rows"),
    ("artifact", _TEXT, "key of the result, as in that view"),
    ("title", _TEXT, "what was studied; several results may share it"),
    ("models", pa.list_(_TEXT), "models that it is about; none: it is about the tasks"),
    ("settings", _TEXT, "what else the study was told, as JSON text"),
    ("written_at", _TIME, "UTC"),
)

#: Grain of tables and views without a separate model in ``sql/catalog``.
GRAINS = {
    "runs": "Grain: one row a run record.",
    "studies": "Grain: one row a result of a study: what the rows of the studies' views are about.",
    "left_out": "Grain: one row a run record and artifact of it that is gone or damaged; the run is in no other view.",
    "dataset": "Grain: one row an artifact and task: tasks. Reads the store's files.",
    "generation": "Grain: one row an artifact, task and sample_index: answers. Reads the store's files.",
    "sanitizing": "Grain: one row an artifact, task, sample_index and sanitizer: programs. Reads the store's files.",
    "execution": "Grain: one row an artifact, task, sample_index, variant and sanitizer: verdicts, those of ground "
    "truths among them. Reads the store's files.",
}

#: Models in ``sql/catalog`` (later models may read earlier ones), and the stage that provides most columns of each.
VIEWS = {
    "aggregation": "aggregation",
    "samples": "generation",
    "solutions": "sanitizing",
    "verdicts": "execution",
    "ground_truths": "execution",
    "failures": "execution",
    "failure_counts": "execution",
    "metrics": "aggregation",
    "pass_at_k": "aggregation",
    "solve_rate": "dataset",
    "costs": "generation",
}

_HEADER = re.compile(r"^-- (Grain: .+)$", re.MULTILINE)
_COLUMN = re.compile(r"^-- (\w+): (.+)$", re.MULTILINE)
_SCHEMAS = {table.stage: table.schema for table in STAGE_TABLES}
#: Display order: the tables that people need most come first; studies follow "studies".
_ORDER = (
    *("runs", "pass_at_k", "metrics", "solve_rate", "failure_counts", "failures", "costs"),
    *("verdicts", "samples", "solutions", "ground_truths"),
    *(*_SCHEMAS, "studies", "left_out"),
)
_GRAIN_OF_STUDY = "Grain: one row an artifact and {grain}. Reads the store's files."
_TABLES = {"runs": RUNS, "studies": STUDY_RESULTS, "left_out": LEFT_OUT}


class ViewColumn(NamedTuple):
    """A column of a view or table of the catalog."""

    name: str
    type: str
    meaning: str


class Description(NamedTuple):
    """A view or table of the catalog."""

    name: str
    grain: str
    columns: Sequence[ViewColumn]


class LeftOut(NamedTuple):
    """A missing or damaged artifact, and the record of the run that the catalog leaves out for this reason.

    ``record`` is None if the artifact belongs to no run.
    """

    record: str | None
    artifact: str
    key: str
    reason: str


def study_views() -> dict[str, pa.Schema]:
    """Return the schema of each study's view by name; skip a study with the same name as another view or table."""
    return {name: schema for name, schema in study_schemas().items() if name not in _ORDER}


def quoted(text: str) -> str:
    """Return the text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def comment_on(connection: "DuckDBPyConnection") -> None:
    """Store the descriptions of all views, tables and columns as comments, so that any client can show them."""
    studies = study_views()
    kinds = {name: "TABLE" if name in _TABLES else "VIEW" for name in (*_ORDER, *studies)}
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND database_name = current_database() AND NOT internal"
    ).fetchall()
    meanings = {name: dict(_meanings(name, studies.get(name))) for name in kinds}
    statements = []
    for name, kind in kinds.items():
        if name in studies:
            described = (studies[name].metadata or {}).get(b"grain", b"row").decode()
            grain = _GRAIN_OF_STUDY.format(grain=described)
        else:
            grain = GRAINS.get(name) or _HEADER.findall(models.sql_of(f"catalog/{name}"))[0]
        statements.append(f'COMMENT ON {kind} "{name}" IS {quoted(grain)}')
    statements += [f'COMMENT ON COLUMN "{name}"."{one}" IS {quoted(meanings[name][one])}' for name, one in columns]
    connection.execute(";".join(statements))


def describe_catalog(path: Path) -> tuple[list[Description], list[LeftOut]]:
    """Return the views and tables of a catalog with their columns, and the artifacts that the catalog leaves out."""
    import duckdb

    try:
        with models.readable(path) as place, duckdb.connect(place, read_only=True) as connection:
            grains = connection.execute(
                "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' UNION ALL "
                "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"
            ).fetchall()
            columns: dict[str, list[ViewColumn]] = {}
            for name, *column in connection.execute(
                "SELECT table_name, column_name, data_type, coalesce(comment, '') FROM duckdb_columns() "
                "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
            ).fetchall():
                columns.setdefault(name, []).append(ViewColumn(*column))
            left_out = connection.execute("SELECT record, artifact, key, reason FROM left_out").fetchall()
    except duckdb.Error as error:
        raise ArtifactError(
            f"{path} cannot be read ({' '.join(str(error).split())}): build it again with `bigcodeflow catalog`"
        ) from error
    found = [Description(name, grain or "", columns[name]) for name, grain in grains]
    order = [*_ORDER[:-1], *study_views(), _ORDER[-1]]
    found.sort(key=lambda one: order.index(one.name) if one.name in order else len(order))
    return found, [LeftOut(*row) for row in left_out]


def _meanings(name: str, study: pa.Schema | None) -> Iterator[tuple[str, str]]:
    """Yield (column, meaning) pairs for the view or table ``name``; later pairs replace a column's earlier pairs."""
    yield "artifact", "key of the artifact, and name of its folder"
    yield "file", "path of the artifact's Parquet file"
    own = _TABLES.get(name) or study or _SCHEMAS[VIEWS.get(name, name)]
    for schema in (*_SCHEMAS.values(), RUNS, own):
        for column in schema:
            yield column.name, (column.metadata or {}).get(b"meaning", b"").decode()
    if name in _SCHEMAS:
        for column_name in ("model", "split", "subset"):
            yield column_name, "of the recorded runs that have the artifact; null where none has it, or they differ"
    if name in VIEWS:
        yield from _COLUMN.findall(models.sql_of(f"catalog/{name}"))
