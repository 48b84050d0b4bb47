"""Index of known verdicts: maps an execution to the artifact of a store that holds its verdict.

The index is a SQLite file in the user's cache, a separate file for each store. It records which artifact holds a
verdict, and the costs of tasks; it holds no verdict itself, and may be deleted at any time. Each machine reads the key
columns of every artifact once; after that, the cost of a lookup does not depend on the number of recorded runs.
"""

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.core.parquet import read_table
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.core.schemas import VERDICTS
from bigcodeflow.execution.costs import MEASURED, Cost
from bigcodeflow.store import Store

T = TypeVar("T")
logger = logging.getLogger(__name__)

_STAGE = "execution"
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE artifact (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, version TEXT NOT NULL);
CREATE TABLE verdict (key BLOB NOT NULL, outcome BLOB NOT NULL, artifact INTEGER NOT NULL,
                      PRIMARY KEY (key, outcome)) WITHOUT ROWID;
CREATE INDEX verdict_artifact ON verdict (artifact);
CREATE TABLE cost (task_id TEXT PRIMARY KEY, executions INTEGER NOT NULL, wall_seconds REAL NOT NULL,
                   max_rss_mib REAL NOT NULL) WITHOUT ROWID;
"""
#: Verdicts of an execution that differ in these columns are all kept: they show if it is flaky, and how it was checked.
_OUTCOME = ("status", "failure_kind", "flaky", "attempts", "integrity", "integrity_key")
_COLUMNS = pa.schema(
    map(VERDICTS.field, ("verdict_key", *_OUTCOME, "task_id", "wall_seconds", "max_rss_mib", "backend"))
)
_DIGEST_BYTES = 16
_WAIT_SECONDS = 120.0
_READS_AT_ONCE = 8
_KEYS_PER_QUERY = 500


class VerdictIndex:
    """Index of the verdicts in a store's finished execution artifacts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        name = hashlib.sha256(store.location.encode()).hexdigest()[:_DIGEST_BYTES]
        self._path = cache_folder() / "verdict-index" / f"{name}-{_SCHEMA_VERSION}.sqlite"

    def verdicts(self, keys: Collection[str]) -> list[dict[str, Any]]:
        """Return VERDICTS rows with these keys, each outcome of a key; skip infra_errors and unexecuted samples."""
        if not keys:
            return []
        digests = [_digest(key) for key in keys]
        found = self._query(lambda database: _artifacts_of(database, digests))
        parts = [part for key in found if (part := self._store.part(_STAGE, key))]
        if not parts:
            return []
        wanted = pc.field("verdict_key").isin(pa.array(sorted(keys))) & _is_verdict()
        rows: list[dict[str, Any]] = read_table(parts, schema=VERDICTS, filters=wanted).to_pylist()
        return rows

    def costs(self) -> dict[str, Cost]:
        """Return the mean wall time and the peak memory of each task's measured executions, by task_id."""
        sql = "SELECT task_id, wall_seconds / executions, max_rss_mib FROM cost"
        rows = self._query(lambda database: database.execute(sql).fetchall())
        return {task_id: Cost(seconds, memory_mib) for task_id, seconds, memory_mib in rows}

    def _query(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return self._query_at(self._path, query)
        except (OSError, sqlite3.OperationalError) as error:
            logger.warning("verdict index %s cannot be used (%s): all artifacts are read instead", self._path, error)
            return self._query_at(":memory:", query)
        except sqlite3.DatabaseError as error:
            logger.info("verdict index %s is damaged (%s): it is rebuilt", self._path, error)
            self._path.unlink(missing_ok=True)
            return self._query_at(self._path, query)

    def _query_at(self, path: Path | str, query: Callable[[sqlite3.Connection], T]) -> T:
        with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)) as database:
            self._update(database)
            return query(database)

    def _update(self, database: sqlite3.Connection) -> None:
        published = self._store.versions(_STAGE)
        if _indexed(database) == published:
            return
        database.execute("BEGIN IMMEDIATE")  # only one of several processes reads new artifacts
        try:
            indexed = _indexed(database)
            if indexed is None:
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
                indexed = {}
            gone = [key for key, version in indexed.items() if published.get(key) != version]
            for key in gone:
                database.execute("DELETE FROM verdict WHERE artifact = (SELECT id FROM artifact WHERE key = ?)", [key])
                database.execute("DELETE FROM artifact WHERE key = ?", [key])
            new = [key for key in published if indexed.get(key) != published[key]]
            with ThreadPoolExecutor(_READS_AT_ONCE, "bigcodeflow-index") as pool:
                tables = pool.map(lambda key: self._store.columns(_STAGE, key, _COLUMNS), new)
                for key, table in zip(new, tables, strict=True):
                    if table is not None:  # None: deleted in the meantime
                        _add(database, key, published[key], table)
            database.execute("COMMIT")
        except BaseException:
            database.execute("ROLLBACK")
            raise


def _indexed(database: sqlite3.Connection) -> dict[str, str] | None:
    """Return the indexed version of each artifact, by artifact key; return None if the index file is empty."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'artifact'").fetchone():
        return None
    return dict(database.execute("SELECT key, version FROM artifact"))


def _artifacts_of(database: sqlite3.Connection, keys: list[bytes]) -> list[str]:
    found: set[tuple[int, str]] = set()
    for begin in range(0, len(keys), _KEYS_PER_QUERY):
        some = keys[begin : begin + _KEYS_PER_QUERY]
        marks = ", ".join("?" * len(some))
        sql = f"SELECT DISTINCT id, artifact.key FROM verdict JOIN artifact ON id = artifact WHERE verdict.key IN ({marks})"  # noqa: E501, S608 - placeholders only
        found.update(database.execute(sql, some))
    return [key for _, key in sorted(found)]


def _add(database: sqlite3.Connection, key: str, version: str, table: pa.Table) -> None:
    artifact = database.execute("INSERT INTO artifact (key, version) VALUES (?, ?)", [key, version]).lastrowid
    final = table.filter(_is_verdict())
    keys, *outcomes = (final[name].to_pylist() for name in ("verdict_key", *_OUTCOME))
    digests = {outcome: _digest(str(outcome)) for outcome in set(zip(*outcomes, strict=True))}
    outcome_digests = map(digests.__getitem__, zip(*outcomes, strict=True))
    rows = [(_digest(str(one)), outcome, artifact) for one, outcome in zip(keys, outcome_digests, strict=True)]
    # The latest artifact replaces all with the same verdict, so that the index grows with distinct verdicts only.
    database.executemany("INSERT OR REPLACE INTO verdict VALUES (?, ?, ?)", rows)
    is_measured = pc.field("status").isin(MEASURED) & (pc.field("backend") != "imported")
    measured = table.filter(is_measured & pc.field("wall_seconds").is_valid() & pc.field("max_rss_mib").is_valid())
    sums = measured.group_by("task_id").aggregate([("wall_seconds", "sum"), ("max_rss_mib", "max"), ([], "count_all")])
    database.executemany(
        "INSERT INTO cost VALUES (:task_id, :count_all, :wall_seconds_sum, :max_rss_mib_max) "
        "ON CONFLICT (task_id) DO UPDATE SET executions = executions + excluded.executions, "
        "wall_seconds = wall_seconds + excluded.wall_seconds, max_rss_mib = max(max_rss_mib, excluded.max_rss_mib)",
        sums.to_pylist(),
    )


def _is_verdict() -> pc.Expression:
    """Return a filter that drops rows without a verdict on a program: infra_errors and unexecuted samples."""
    return (pc.field("status") != "infra_error") & ~pc.field("failure_kind").isin(["safety_policy", "unanswered"])


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()
