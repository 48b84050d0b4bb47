"""Build a new ``results.duckdb`` in place of the former file, from which rows of unchanged artifacts are copied."""

import json
import logging
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import locked
from bigcodeflow.core.parquet import duckdb_source
from bigcodeflow.core.schemas import STAGE_FOLDERS, UNKNOWN
from bigcodeflow.results import models
from bigcodeflow.results.catalog.description import (
    LEFT_OUT,
    RUNS,
    STAGE_TABLES,
    STUDY_RESULTS,
    VIEWS,
    StageTable,
    comment_on,
    quoted,
    study_views,
)
from bigcodeflow.results.run_settings import setting_of
from bigcodeflow.results.runs import RecordedRun, is_mismatched, judge_of, recorded_runs
from bigcodeflow.store import Store, open_store
from bigcodeflow.store.store import MANIFEST

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CATALOG_NAME = "results.duckdb"
#: Increase it when a table of schema ``stored`` changes: nothing is copied from a catalog of another version.
_VERSION = 5
#: DuckDB spills to disk above this limit; a run that ends while others execute must not take their memory.
_MEMORY_LIMIT = "1GiB"
#: SELECT of a stage's rows with model, split and subset of the runs that have the artifact; null if they differ.
_OWNED = (
    "SELECT artifact, file, owners.* EXCLUDE (artifact), found.* EXCLUDE (artifact, file) "
    'FROM stored."{stage}" AS found LEFT JOIN stored.owners USING (artifact)'
)
_OWNER = ("record", "run", "model", "split", "subset")
#: Grain: one row per recorded run and artifact of this run.
_RUN_FILES = dict.fromkeys((*_OWNER, "artifact", "key", "file"), "VARCHAR")
#: Columns that contain 'unknown' in Parquet files if the value is not known; null in the catalog.
_UNKNOWN_IN = ("sanitizer", "environment_sha")
#: Columns in which imports store substitute values, such as the program in place of the missing answer.
_STAND_INS = ("raw_text", "attempts")
_TYPES = {
    pa.string(): "VARCHAR",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.timestamp("us"): "TIMESTAMP",
}

logger = logging.getLogger(__name__)


class StoredArtifact(NamedTuple):
    """A finished artifact of the store, and its Parquet file."""

    stage: str
    artifact: str
    """Key of the artifact."""
    file: str
    stamp: str
    """Size and modification time of the Parquet file; if the stamp changes, the file is read again."""


def rebuild_catalog(location: Path | str) -> Path:
    """Rebuild ``results.duckdb`` in the store's folder from the current content of the store; return its path.

    Comments in the database (COMMENT ON) and docs/formats.md describe the views and their columns. The file has tables
    of each sample's status and cause, of metrics and of costs; rows of unchanged artifacts are copied from the previous
    file. A run with a missing or damaged artifact is left out with a warning, and listed in the table ``left_out``. For
    a store at a URL, the file is in the replica on this machine. An atomic rename replaces the file: programs that have
    opened the previous file can still read it. Raises ArtifactError if the catalog cannot be built.
    """
    import duckdb  # takes 0.15 s, which a run without a rebuild can save

    store = open_store(location)
    store.root.mkdir(parents=True, exist_ok=True)
    target = store.root / CATALOG_NAME
    aside = target.with_name(f".{CATALOG_NAME}.{uuid.uuid4().hex}.tmp")
    # Preserving the order would cost memory for every row group that is read early.
    config: dict[str, Any] = {"memory_limit": _MEMORY_LIMIT, "preserve_insertion_order": False}
    # Without the lock, a slow rebuild could overwrite a newer catalog and lose the newest run.
    with locked(store.root / f".{CATALOG_NAME}.lock"), TemporaryDirectory() as folder:
        # In paths of databases for writing, DuckDB reads a backslash as a slash, and cuts at a question mark.
        place = Path(folder) / aside.name if {"\\", "?"} & set(str(aside)) else aside
        try:
            with duckdb.connect(place, config={**config, "temp_directory": f"{place}.spill"}) as connection:
                _Rebuild(connection, store).fill(target)
            if place != aside:
                shutil.copyfile(place, aside)
            aside.replace(target)
        except duckdb.Error as error:
            raise ArtifactError(
                f"{target} cannot be built ({' '.join(str(error).split())}): free disk space, or delete the artifact's "
                f"folder if the error names one of its files; then run `bigcodeflow catalog --store {store.location}`"
            ) from error
        finally:
            # Temporary files of this rebuild and of killed ones: the lock excludes other running rebuilds.
            for path in store.root.glob(f".{CATALOG_NAME}.*.tmp*"):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
    return target


class _Rebuild:
    """A rebuild of the catalog: the connection to the new database, and the state of the store's artifacts.

    ``intact`` maps stage and key to readable artifacts, ``damaged`` maps stage and key to error messages.
    """

    def __init__(self, connection: "DuckDBPyConnection", store: Store) -> None:
        self.connection, self.store = connection, store
        self.intact: dict[tuple[str, str], StoredArtifact] = {}
        self.damaged: dict[tuple[str, str], str] = {}

    def fill(self, former: Path) -> None:
        """Create all tables and views; copy rows of unchanged artifacts from the previous catalog."""
        # Before the artifacts are listed: otherwise a run recorded in between would seem to lack its artifacts.
        recorded = recorded_runs(self.store.location)
        known = _attach(self.connection, former)
        for table in STAGE_TABLES:
            self._collect(table, list(_artifacts_of(self.store, table.stage)), known)
        # All steps that damaged data can break are done now. A single transaction writes to disk only once.
        self.connection.begin()
        self.connection.execute("CREATE SCHEMA stored")
        self.connection.execute(f"CREATE TABLE stored.version AS SELECT {_VERSION}::INTEGER AS version")
        for table in STAGE_TABLES:
            self.connection.execute(f'CREATE TABLE stored."{table.kept}" AS FROM "read_{table.kept}"')
        self.connection.execute(f"CREATE TABLE stored.outcomes AS {models.sql_of('catalog/stored/outcomes')}")
        # Grain: one row per artifact that the views read.
        columns = dict.fromkeys(StoredArtifact._fields, "VARCHAR")
        self._create("stored.artifacts", columns, [one._asdict() for one in self.intact.values()])
        runs, left_out = self._complete_runs(recorded)
        templates = dict(self.connection.execute("SELECT artifact, templates FROM stored.answers").fetchall())
        left_out += self._create_study_views()
        self._create("runs", _types_of(RUNS), [_run_row(run, templates) for run in runs])
        self._create("left_out", _types_of(LEFT_OUT), left_out)
        run_files = [
            {**_owner(run), "artifact": name, "key": place[1], "file": self.intact[place].file}
            for run in runs
            for name, place in _artifacts_of_run(run).items()
        ]
        self._create("stored.run_files", _RUN_FILES, run_files)
        self.connection.execute(f"CREATE TABLE stored.owners AS {models.sql_of('catalog/stored/owners')}")
        self._create_views()
        comment_on(self.connection)
        self.connection.commit()
        if left_out:
            # A single line for all: otherwise a lost folder would fill the terminal at the end of every run.
            first, lost = left_out[0], {row["record"] for row in left_out} - {None}
            logger.warning(
                "%s: the catalog leaves out %s recorded runs with missing or damaged artifacts (first: %s %s %s): "
                "list all with `bigcodeflow catalog --store %s`; then run these runs again, or delete their records",
                self.store.location, f"{len(lost):,}", first["artifact"], first["key"], first["reason"],
                self.store.location,
            )  # fmt: skip

    def _collect(
        self, table: StageTable, found: Sequence[StoredArtifact], known: Mapping[tuple[str, str], str]
    ) -> None:
        """Create a stage's table; copy the rows of artifacts with the stamp in ``known`` from the previous catalog."""
        model = models.sql_of(f"catalog/stored/{table.kept}")
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW fresh AS {_rows_sql(table.schema, [])}")
        self.connection.execute(f'CREATE TEMP TABLE "read_{table.kept}" AS {model}')
        if carried := [one.artifact for one in found if known.get(one[:2]) == one.stamp]:
            source = f'former.stored."{table.kept}" SEMI JOIN unnest($keys) AS carried(artifact) USING (artifact)'
            self.connection.execute(f'INSERT INTO "read_{table.kept}" FROM {source}', {"keys": carried})
        self._read(table, model, [one for one in found if known.get(one[:2]) != one.stamp])
        self.intact |= {one[:2]: one for one in found if one[:2] not in self.damaged}

    def _read(self, table: StageTable, model: str, artifacts: Sequence[StoredArtifact]) -> None:
        """Insert rows of all artifacts at once; if this fails, read each artifact alone to detect damaged files."""
        import duckdb

        if not artifacts:
            return
        try:
            self.connection.execute(f"CREATE OR REPLACE TEMP VIEW fresh AS {_rows_sql(table.schema, artifacts)}")
            self.connection.execute(f'INSERT INTO "read_{table.kept}" {model}')
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            if len(artifacts) == 1:
                self.damaged[artifacts[0][:2]] = " ".join(str(error).split())
                return
            for artifact in artifacts:
                self._read(table, model, [artifact])

    def _create(self, name: str, types: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Create a table of ``rows``, passed as one JSON text, because DuckDB inserts Python rows one by one."""
        select = "SELECT unnest(from_json($rows, $structure), max_depth := 2)"
        parameters = {"rows": json.dumps(rows), "structure": json.dumps([types])}
        self.connection.execute(f"CREATE TABLE {name} AS {select}", parameters)

    def _complete_runs(self, recorded: Sequence[RecordedRun]) -> tuple[list[RecordedRun], list[dict[str, Any]]]:
        """Return the complete runs, by start time, and rows of ``left_out``: one per missing or damaged artifact."""
        runs, left_out = [], []
        unreadable = {place: f"cannot be read: {reason}" for place, reason in self.damaged.items()}
        unowned = dict(unreadable)
        for run in sorted(recorded, key=lambda run: (run.started_at, run.record)):
            lacking = {name: place for name, place in _artifacts_of_run(run).items() if place not in self.intact}
            if not lacking:
                runs.append(run)
            for name, place in lacking.items():
                unowned.pop(place, None)
                reason = unreadable.get(place, "is gone")
                left_out.append({**_owner(run), "artifact": name, "key": place[1], "reason": reason})
        no_run = dict.fromkeys(_OWNER)
        left_out += [{**no_run, "artifact": place[0], "key": place[1], "reason": unowned[place]} for place in unowned]
        return runs, left_out

    def _create_study_views(self) -> list[dict[str, Any]]:
        """Create a view for each study, and the table ``studies``; return rows of ``left_out`` for damaged results."""
        left_out, results = [], []
        for study, schema in study_views().items():
            artifacts = []
            for one in _artifacts_of(self.store, study):
                try:
                    pq.read_metadata(one.file)
                    results.append(_study_row(one))
                    artifacts.append(one)
                except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
                    reason = f"cannot be read: {' '.join(str(error).split())}"
                    left_out.append({**dict.fromkeys(_OWNER), "artifact": study, "key": one.artifact, "reason": reason})
            self.connection.execute(f'CREATE VIEW "{study}" AS {_rows_sql(schema, artifacts)}')
        self._create("studies", _types_of(STUDY_RESULTS), results)
        return left_out

    def _create_views(self) -> None:
        """Create a view of the files of each stage, then the views in ``VIEWS``, which read the views of the stages."""
        stages = [table for table in STAGE_TABLES if table.stage not in VIEWS]
        # For each view that it creates, DuckDB opens all files below it; so create the models over empty views first.
        for stage, schema, _ in stages:
            self.connection.execute(f'CREATE VIEW stored."{stage}" AS {_rows_sql(schema, [])}')
            self.connection.execute(f'CREATE VIEW "{stage}" AS {_OWNED.format(stage=stage)}')
        for view in VIEWS:
            self.connection.execute(f'CREATE VIEW "{view}" AS {models.sql_of(f"catalog/{view}")}')
        for stage, schema, _ in stages:
            rows = _rows_sql(schema, [one for one in self.intact.values() if one.stage == stage])
            self.connection.execute(f'CREATE OR REPLACE VIEW stored."{stage}" AS {rows}')


def _attach(connection: "DuckDBPyConnection", former: Path) -> dict[tuple[str, str], str]:
    """Attach the previous catalog; return its artifacts' stamps by stage and key, or {} if the catalog is unusable."""
    import duckdb

    # If it is absent, of another version, damaged, or open for writing elsewhere, all data is read from the store.
    with suppress(duckdb.Error):
        with models.readable(former) as place:
            connection.execute(f"ATTACH {quoted(str(place))} AS former (READ_ONLY)")
        [(version,)] = connection.execute("FROM former.stored.version").fetchall()
        if version == _VERSION:
            rows = connection.execute("SELECT stage, artifact, stamp FROM former.stored.artifacts").fetchall()
            return {(stage, key): stamp for stage, key, stamp in rows}
    return {}


def _artifacts_of(store: Store, stage: str) -> Iterator[StoredArtifact]:
    for path in store.published(stage):
        try:
            status = path.stat()
        except FileNotFoundError:  # deleted, or never copied
            continue
        yield StoredArtifact(stage, path.parent.name, str(path), f"{status.st_size}-{status.st_mtime_ns}")


def _artifacts_of_run(run: RecordedRun) -> dict[str, tuple[str, str]]:
    """Map the name of each artifact of the run to its stage and key; skip artifacts that this version does not know."""
    return {name: (folder, run.keys[name]) for name, folder in STAGE_FOLDERS.items() if name in run.keys}


def _owner(run: RecordedRun) -> dict[str, str | None]:
    return dict(zip(_OWNER, (run.record, run.run, run.model, run.split or None, run.subset or None), strict=True))


def _run_row(run: RecordedRun, templates: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    setting, judge = setting_of(run), judge_of(run)
    return {
        **_owner(run),
        "setting": setting.text,
        "setting_key": setting.key,
        **run.labels.model_dump(include={"tags", "note", "archived"}),
        **judge._asdict(),
        "split_mismatch": is_mismatched(run, templates.get(run.keys.get("generation", ""), ())),
        "contradicted": run.contradicted_tasks > 0,
        "task_variants": run.task_variants > 0,
        "selection": run.selection,
        "started_at": _without_zone(run.started_at),
        "finished_at": _without_zone(run.finished_at),
        "config": json.dumps(run.config, sort_keys=True),
        **{f"{artifact}_key": run.keys.get(artifact) for artifact in STAGE_FOLDERS},
    }


def _study_row(result: StoredArtifact) -> dict[str, Any]:
    """Return the row of the table ``studies`` for a study's result, made from the result's manifest."""
    manifest = json.loads(Path(result.file).with_name(MANIFEST).read_bytes())
    settings = dict(manifest["settings"])
    return {
        "study": result.stage,
        "artifact": result.artifact,
        "title": settings.pop("title", result.stage),
        "models": settings.pop("models", []),
        "settings": json.dumps(settings, sort_keys=True),
        "written_at": _without_zone(datetime.fromisoformat(manifest["written_at"]).astimezone(UTC)),
    }


def _without_zone(moment: datetime | None) -> str | None:
    """Return a UTC time as text without zone, because DuckDB needs a further package to read times with zone."""
    return moment.replace(tzinfo=None).isoformat() if moment else None


def _rows_sql(schema: pa.Schema, artifacts: Sequence[StoredArtifact]) -> str:
    """Return SQL that selects all rows of the artifacts; its first columns are ``artifact`` (the key) and ``file``.

    A UNION with an empty table adds columns that earlier versions did not write. NaN becomes null. Imports write
    substitute values into columns that must not be empty; these values become null as well.
    """
    columns = {"artifact": "VARCHAR", "file": "VARCHAR"} | _types_of(schema)
    typed = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in columns.items())
    nothing = f"SELECT {typed} WHERE false"
    if not artifacts:
        return nothing
    # With a given schema DuckDB would not open every file, but then it also guesses the number of rows, chooses the
    # wrong join order, and reads all files even if only those of one run are needed.
    read = duckdb_source([one.file for one in artifacts], "union_by_name = true", "filename = true")
    key = "split_part(filename, '/', -2) AS artifact, filename AS file"
    rows = f"{nothing} UNION ALL BY NAME SELECT {key}, * EXCLUDE (filename) FROM {read}"  # noqa: S608 - quoted
    return f"SELECT * REPLACE ({', '.join(_nulls(schema))}) FROM ({rows})" if _nulls(schema) else rows  # noqa: S608


def _nulls(schema: pa.Schema) -> list[str]:
    """Return SQL expressions, one per column where some values mean 'not known'; they replace such values by null.

    Values that mean 'not known' are NaN, 'unknown', and the substitute values of imported runs.
    """
    made = {column.name: _without_nan(f'"{column.name}"', column.type) for column in schema}
    made |= {name: f"nullif(\"{name}\", '{UNKNOWN}')" for name in _UNKNOWN_IN if name in made}
    origin = next((name for name in ("provider", "backend") if name in made), None)
    made |= {
        name: f"CASE WHEN {origin} <> 'imported' THEN {name} END" for name in _STAND_INS if origin and name in made
    }
    return [f'{sql} AS "{name}"' for name, sql in made.items() if sql != f'"{name}"']


def _without_nan(value: str, kind: pa.DataType) -> str:
    """Return SQL that replaces NaN in ``value`` by null, as NaN would spoil sums; ``value`` if NaN cannot occur."""
    if pa.types.is_floating(kind):
        # Not isnan: DuckDB may assume it is false, because Parquet's statistics leave NaN out.
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if pa.types.is_list(kind):
        made = _without_nan("entry", kind.value_type)
        return value if made == "entry" else f"list_transform({value}, lambda entry: {made})"
    if pa.types.is_struct(kind):
        made_fields = [(one.name, _without_nan(f"{value}.{one.name}", one.type)) for one in kind]
        if any(made != f"{value}.{name}" for name, made in made_fields):
            return f"struct_pack({', '.join(f'{name} := {made}' for name, made in made_fields)})"
    return value


def _types_of(schema: pa.Schema) -> dict[str, str]:
    return {column.name: _type(column.type) for column in schema}


def _type(kind: pa.DataType) -> str:
    # DuckDB could convert Arrow types itself, but that imports pandas if it is installed, which takes a second.
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f'"{one.name}" {_type(one.type)}' for one in kind) + ")"
    return _TYPES[kind]
