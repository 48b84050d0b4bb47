"""Building ``results.duckdb`` aside, and putting it in place; what has not changed is taken from the former one."""

import fcntl
import json
import logging
import shutil
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import STAGE_FOLDERS
from bigcodeflow.results import models
from bigcodeflow.results.catalog.describing import comment_on
from bigcodeflow.results.catalog.sources import (
    STAGE_TABLES,
    Artifact,
    StageTable,
    artifacts_of,
    quoted,
    rows_sql,
    types_of,
)
from bigcodeflow.results.catalog.tables import ARTIFACTS, LEFT_OUT, RUN_FILES, RUNS, VIEWS
from bigcodeflow.results.runs import RecordedRun, is_mismatched, recorded_runs
from bigcodeflow.store import Store, open_store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CATALOG_NAME = "results.duckdb"
#: Bump when a table of schema ``stored`` changes: a catalog of another version is not carried over.
_VERSION = 2
#: Above this DuckDB spills to disk; a run that ends beside others must not take the machine's memory.
_MEMORY_LIMIT = "1GiB"

#: A stage's rows with the runs' model, split and subset, as far as all runs that have the artifact agree.
_OWNED = (
    "SELECT artifact, file, owners.* EXCLUDE (artifact), found.* EXCLUDE (artifact, file) "
    'FROM stored."{stage}" AS found LEFT JOIN stored.owners USING (artifact)'
)

logger = logging.getLogger(__name__)


class _Damage(NamedTuple):
    """An artifact that cannot be read."""

    artifact: Artifact
    reason: str


@dataclass(slots=True)
class _Contents:
    """The artifacts that are in the catalog, and those that cannot be."""

    intact: dict[tuple[str, str], Artifact] = field(default_factory=dict)
    """By stage and key."""
    damaged: list[_Damage] = field(default_factory=list)


def rebuild_catalog(location: Path | str) -> Path:
    """Build ``results.duckdb`` in the store's folder anew over what the store holds now, and return its path.

    Views and their columns are described in the database itself (COMMENT ON) and in docs/formats.md. Counts, metrics
    and costs are tables in the file; those of artifacts that the former catalog knows are taken from there. A run of
    which an artifact is gone or damaged is left out with a warning, and named in the table ``left_out``.
    For a store at a URL it lies in the replica of this machine. It appears by one rename, so that open readers keep
    the catalog that they opened.

    Raises:
        ArtifactError: a run record that cannot be read, or a file that cannot be written.
    """
    import duckdb  # costs 0.15 s, which a run that rebuilds nothing need not pay

    store = open_store(location)
    store.root.mkdir(parents=True, exist_ok=True)
    target = store.root / CATALOG_NAME
    aside = target.with_name(f".{CATALOG_NAME}.{uuid.uuid4().hex}.tmp")
    # Without the lock a slow rebuild could replace a newer catalog by one that lacks the newest run.
    with _locked(store.root / f".{CATALOG_NAME}.lock"):
        try:
            with duckdb.connect(aside, config=_limits(aside)) as connection:
                _fill(connection, store, target)
            aside.replace(target)
        except duckdb.Error as error:
            raise ArtifactError(
                f"{target} cannot be built ({' '.join(str(error).split())}): see that the disk has room, or delete the "
                f"artifact folder that is named here; then run `bigcodeflow catalog --store {store.location}`"
            ) from error
        finally:
            _clear(store.root)
    return target


def _clear(root: Path) -> None:
    """Remove what this rebuild, and any that was killed, has left; under the lock nobody else has one under way."""
    for path in root.glob(f".{CATALOG_NAME}.*.tmp*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _limits(aside: Path) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": _MEMORY_LIMIT,
        "temp_directory": str(_spill(aside)),
        # Kept order costs memory for every row group that is read ahead of its turn.
        "preserve_insertion_order": False,
    }


def _spill(aside: Path) -> Path:
    return aside.with_name(f"{aside.name}.spill")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fill(connection: "DuckDBPyConnection", store: Store, former: Path) -> None:
    # Before the artifacts: a run that is recorded meanwhile would else seem to lack its own.
    recorded = recorded_runs(store.location)
    known = _attach(connection, former)
    contents = _Contents()
    views = {}
    for table in STAGE_TABLES:
        found = list(artifacts_of(store, table.stage))
        _keep(connection, table, found, known, contents)
        intact = [artifact for artifact in found if (artifact.stage, artifact.key) in contents.intact]
        if table.stage not in VIEWS:
            views[table.stage] = rows_sql(table.schema, intact)
    # What can fail for the data's sake is in temporary tables by now. One transaction is one write to disk.
    connection.begin()
    connection.execute("CREATE SCHEMA stored")
    connection.execute(f"CREATE TABLE stored.version AS SELECT {_VERSION}::INTEGER AS version")
    for table in STAGE_TABLES:
        connection.execute(f'CREATE TABLE stored."{table.kept}" AS FROM {_aside_of(table)}')
    _create(connection, "stored.artifacts", ARTIFACTS, [_artifact_row(one) for one in contents.intact.values()])
    runs, left_out = _sorted_out(recorded, contents)
    templates = dict(connection.execute("SELECT artifact, templates FROM stored.answers").fetchall())
    _create(connection, "runs", RUNS, [_run_row(run, templates) for run in runs])
    _create(connection, "left_out", LEFT_OUT, left_out)
    _create(connection, "stored.run_files", RUN_FILES, list(_run_file_rows(runs, contents)))
    connection.execute(f"CREATE TABLE stored.owners AS {models.sql_of('catalog/stored/owners')}")
    _create_views(connection, views)
    comment_on(connection)
    connection.commit()
    _warn(store, left_out)


def _create_views(connection: "DuckDBPyConnection", stages: Mapping[str, str]) -> None:
    """Views over the files by stage, and the models over these."""
    schemas = {table.stage: table.schema for table in STAGE_TABLES}
    # DuckDB opens every file for each view that it creates over them, so the models are created over empty ones.
    for stage in stages:
        connection.execute(f'CREATE VIEW stored."{stage}" AS {rows_sql(schemas[stage], [])}')
        connection.execute(f'CREATE VIEW "{stage}" AS {_OWNED.format(stage=stage)}')
    for view in VIEWS:
        connection.execute(f'CREATE VIEW "{view}" AS {models.sql_of(f"catalog/{view}")}')
    for stage, sql in stages.items():
        connection.execute(f'CREATE OR REPLACE VIEW stored."{stage}" AS {sql}')


def _attach(connection: "DuckDBPyConnection", former: Path) -> dict[tuple[str, str], str]:
    """Attach the former catalog as ``former`` and return the stamps of what it holds; empty: there is none to use."""
    import duckdb

    if not former.is_file():
        return {}
    # Of another version, damaged, or opened for writing by somebody: all of it can be had from the store.
    with suppress(duckdb.Error):
        connection.execute(f"ATTACH {quoted(str(former))} AS former (READ_ONLY)")
        [(version,)] = connection.execute("FROM former.stored.version").fetchall()
        if version == _VERSION:
            rows = connection.execute("SELECT stage, artifact, stamp FROM former.stored.artifacts").fetchall()
            return {(stage, key): stamp for stage, key, stamp in rows}
    return {}


def _keep(
    connection: "DuckDBPyConnection",
    table: StageTable,
    found: Sequence[Artifact],
    known: dict[tuple[str, str], str],
    contents: _Contents,
) -> None:
    """Collect the stage's table: from the former catalog what is unchanged, the rest from the files."""
    kept = _aside_of(table)
    connection.execute(f"CREATE TEMP VIEW fresh AS {rows_sql(table.schema, [])}")
    connection.execute(f"CREATE TEMP TABLE {kept} AS {models.sql_of(f'catalog/stored/{table.kept}')}")
    carried = [one for one in found if known.get((one.stage, one.key)) == one.stamp]
    if carried:
        keys = [one.key for one in carried]
        source = f'former.stored."{table.kept}" SEMI JOIN unnest($keys) AS carried(artifact) USING (artifact)'
        connection.execute(f"INSERT INTO {kept} FROM {source}", {"keys": keys})
    fresh = [one for one in found if known.get((one.stage, one.key)) != one.stamp]
    damaged = _read(connection, table, fresh)
    contents.damaged += damaged
    unreadable = {damage.artifact for damage in damaged}
    contents.intact |= {(one.stage, one.key): one for one in found if one not in unreadable}
    connection.execute("DROP VIEW fresh")


def _aside_of(table: StageTable) -> str:
    return f'"read_{table.kept}"'


def _read(connection: "DuckDBPyConnection", table: StageTable, artifacts: Sequence[Artifact]) -> list[_Damage]:
    """Read all artifacts at once; where that fails each by itself, to find out which ones cannot be read."""
    import duckdb

    if not artifacts:
        return []
    try:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW fresh AS {rows_sql(table.schema, artifacts)}")
        model = models.sql_of(f"catalog/stored/{table.kept}")
        connection.execute(f"INSERT INTO {_aside_of(table)} {model}")
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        if len(artifacts) == 1:
            return [_Damage(artifacts[0], " ".join(str(error).split()))]
        return [damage for artifact in artifacts for damage in _read(connection, table, [artifact])]
    return []


def _create(connection: "DuckDBPyConnection", name: str, schema: pa.Schema, rows: Sequence[dict[str, Any]]) -> None:
    """A table of the rows, given as one JSON text: DuckDB takes values from Python one statement a row."""
    structure = json.dumps([types_of(schema)])
    told = "SELECT unnest(from_json($rows, $structure), recursive := true)"
    connection.execute(f"CREATE TABLE {name} AS {told}", {"rows": json.dumps(list(rows)), "structure": structure})


def _sorted_out(recorded: Sequence[RecordedRun], contents: _Contents) -> tuple[list[RecordedRun], list[dict[str, Any]]]:
    """Runs whose artifacts are all there, in the order of time; and what is wrong with the others."""
    reasons = {(one.artifact.stage, one.artifact.key): one.reason for one in contents.damaged}
    runs, left_out = [], []
    for run in sorted(recorded, key=lambda run: (run.started_at, run.record)):
        lacking = {
            name: key for name, key in _keys_of(run).items() if (STAGE_FOLDERS[name], key) not in contents.intact
        }
        if not lacking:
            runs.append(run)
        for name, key in lacking.items():
            place = (STAGE_FOLDERS[name], key)
            reason = f"cannot be read: {reasons[place]}" if place in reasons else "is gone"
            left_out.append(_left_out_row(run, name, key, reason))
    concerned = {(STAGE_FOLDERS[row["artifact"]], row["key"]) for row in left_out}
    left_out += [
        _left_out_row(None, stage, key, f"cannot be read: {reason}")
        for (stage, key), reason in reasons.items()
        if (stage, key) not in concerned
    ]
    return runs, left_out


def _keys_of(run: RecordedRun) -> dict[str, str]:
    """Keys by artifact; a record of another version may name ones that are not known here."""
    return {name: run.keys[name] for name in STAGE_FOLDERS if name in run.keys}


def _left_out_row(run: RecordedRun | None, artifact: str, key: str, reason: str) -> dict[str, Any]:
    owner = _owner(run) if run else dict.fromkeys(("record", "run", "model", "split", "subset"))
    return {**owner, "artifact": artifact, "key": key, "reason": reason}


def _owner(run: RecordedRun) -> dict[str, Any]:
    """What every view says of a run; null where its record does not tell."""
    return {
        "record": run.record,
        "run": run.run,
        "model": run.model,
        "split": run.split or None,
        "subset": run.subset or None,
    }


def _artifact_row(artifact: Artifact) -> dict[str, Any]:
    place = {"stage": artifact.stage, "artifact": artifact.key}
    return {**place, "file": str(artifact.path), "stamp": artifact.stamp}


def _run_file_rows(runs: Sequence[RecordedRun], contents: _Contents) -> Iterator[dict[str, Any]]:
    for run in runs:
        for name, key in _keys_of(run).items():
            path = contents.intact[STAGE_FOLDERS[name], key].path
            yield {**_owner(run), "artifact": name, "key": key, "file": str(path)}


def _run_row(run: RecordedRun, templates: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        **_owner(run),
        "split_mismatch": is_mismatched(run, templates.get(run.keys.get("generation", ""), ())),
        "started_at": _utc(run.started_at),
        "finished_at": _utc(run.finished_at),
        "config": json.dumps(run.config, sort_keys=True),
        **{f"{artifact}_key": run.keys.get(artifact) for artifact in STAGE_FOLDERS},
    }


def _utc(moment: datetime | None) -> str | None:
    """UTC without zone: DuckDB's Python client cannot hand out zoned times without a further package."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() if moment else None


def _warn(store: Store, left_out: Sequence[dict[str, Any]]) -> None:
    """One line for all of them: a store with a lost folder would else fill the end of every run."""
    if not left_out:
        return
    records: dict[str | None, list[str]] = defaultdict(list)
    for row in left_out:
        records[row["record"]].append(row["artifact"])
    first = left_out[0]
    runs = len(records.keys() - {None})
    logger.warning(
        "%s: the catalog leaves out %s recorded runs, as artifacts of theirs are gone or damaged (first: %s %s %s): "
        "`bigcodeflow catalog --store %s` names them all; run them again, or delete their records",
        store.location, f"{runs:,}", first["artifact"], first["key"], first["reason"], store.location,
    )  # fmt: skip
