"""Search index of all samples of all recorded runs, in the user's cache.

The catalog has no samples, and reading the tables of a thousand runs takes seconds. The index has one row per sample
with the cause of its failure; a thread adds new runs. It can be deleted at any time.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bigcodeflow.core.errors import error_message
from bigcodeflow.core.parquet import duckdb_path
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.results.models import Row, rows_from, sql_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Increase it when the rows or their columns change: files of other versions are not opened.
_VERSION = 3
_MEMORY_LIMIT = "1GiB"
#: Number of runs added per transaction; they appear together, and are lost if the process ends before the commit.
_RUNS_AT_ONCE = 16
_COLUMNS = (
    "artifact VARCHAR, place INTEGER, task_id VARCHAR, sample_index INTEGER, variant VARCHAR, sanitizer VARCHAR, "
    "status VARCHAR, failure_kind VARCHAR, cause VARCHAR, words VARCHAR"
)
_LISTED = '[{"artifact":"VARCHAR","number":"INTEGER","hits":"BIGINT"}]'
_TASKS = '[{"task_id":"VARCHAR","hits":"BIGINT"}]'

_STATUS_AND_KIND = (
    "$kind IN ('', failure_kind) AND CASE WHEN $status = '!pass' THEN status <> 'pass' ELSE $status IN ('', status) END"
)

#: Error messages of DuckDB for a file that another explorer has open, in another process or in this process.
_IN_USE = ("Could not set lock", "different configuration")

logger = logging.getLogger(__name__)


class _File(NamedTuple):
    """A file of verdicts, and a stamp that changes with its content."""

    path: str
    stamp: str


class SampleQuery(NamedTuple):
    """Filters of samples; an empty filter matches all."""

    artifacts: Sequence[tuple[str, int]]
    """Keys of the executions to search, in the order of the result, each with a bit mask of the words that match its
    run: bit i is for word i."""
    words: Sequence[str] = ()
    """Words in lower case, which must all occur."""
    tasks: Mapping[str, int] | None = None
    """Ids of the tasks to search, each with a bit mask of the words that match it; None: all tasks, without words."""
    status: str = ""
    """Status of the samples; '!pass' matches all that did not pass."""
    kind: str = ""
    variant: str = ""


class Found(NamedTuple):
    """Samples that match a query."""

    rows: Sequence[Row]
    """Requested range of the samples; ``number`` is the index of the execution in the query."""
    statuses: Mapping[str, int]
    """Number of samples by status, without the filter on status."""
    kinds: Mapping[str, int]
    """Number of samples by failure kind, without the filters on kind and status."""
    total: int


class Progress(NamedTuple):
    """Progress of indexing: numbers of indexed and of all executions."""

    done: int
    total: int


class SampleIndex:
    """Search index of a store."""

    def __init__(self, location: str, folder: Path | None = None) -> None:
        name = f"{hashlib.sha256(location.encode()).hexdigest()[:16]}-v{_VERSION}.duckdb"
        self._path = (folder or cache_folder() / "explorer") / name
        self._lock = threading.Lock()
        self._database: DuckDBPyConnection | None = None
        self._thread: threading.Thread | None = None
        self._wanted: Mapping[str, _File] = {}
        self._known: dict[str, str] = {}
        """Stamps of the indexed files, by execution key."""
        self._unreadable: set[_File] = set()
        self._stopped = False
        self._is_in_file = True

    def refresh(self, files: Mapping[str, str]) -> None:
        """Start a thread that adds missing executions to the index in the given order; ``files`` maps keys to paths."""
        # An execution keeps its key when it is continued to judge the remaining samples.
        wanted = {key: _File(path, _stamp(path)) for key, path in files.items()}
        with self._lock:
            self._wanted = wanted
            is_running = self._thread is not None and self._thread.is_alive()
            if is_running or self._stopped or not self._lacking():
                return
            self._thread = threading.Thread(target=self._fill, name="sample index", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until the thread has added all executions."""
        if (thread := self._thread) is not None:
            thread.join()

    def close(self) -> None:
        """Stop the thread after its current step, and close the database."""
        self._stopped = True
        self.wait()
        if self._database is not None:
            self._database.close()

    @property
    def progress(self) -> Progress:
        """Numbers of requested executions that are indexed, and of all that are readable."""
        readable = {key: file for key, file in self._wanted.items() if file not in self._unreadable}
        return Progress(sum(self._has(key, file) for key, file in readable.items()), len(readable))

    def search(self, query: SampleQuery, *, offset: int = 0, limit: int = 50) -> Found:
        """Return the samples that match a query, in the order of its executions; nothing if the index is not open."""
        with self._lock:
            if self._database is None:
                return Found((), {}, {}, 0)
            connection = self._database.cursor()
        with connection:
            source, conditions, parameters = _searched(query)
            where = " AND ".join(conditions) or "true"
            # Only the counts need the whole index; the rows come from a few runs.
            counts = connection.execute(
                f"{source} SELECT number, status, failure_kind, count(*) FROM found WHERE {where} GROUP BY ALL",  # noqa: S608
                parameters,
            ).fetchall()
            shown, skipped = _shown(query, counts, offset, limit)
            source, conditions, parameters = _searched(query._replace(artifacts=shown))
            where = " AND ".join([*conditions, _STATUS_AND_KIND])
            parameters |= {"kind": query.kind, "status": query.status, "limit": limit, "offset": skipped}
            sql = (
                f"{source} SELECT * EXCLUDE (words, hits) FROM found WHERE {where} "  # noqa: S608 - our own words
                "ORDER BY number, place LIMIT $limit OFFSET $offset"
            )
            rows = list(rows_from(connection.execute(sql, parameters))) if shown else []
        numbers = {artifact: number for number, (artifact, _) in enumerate(query.artifacts)}
        return _found([row | {"number": numbers[row["artifact"]]} for row in rows], counts, query)

    def _fill(self) -> None:
        """Add the missing executions in portions until none is left; discard the index if it is damaged."""
        import duckdb

        try:
            self._open()
            while not self._stopped and (lacking := self._lacking()):
                self._add(dict(lacking[:_RUNS_AT_ONCE]))
        except duckdb.Error as error:
            logger.warning("%s: the index of samples is made anew: %s", self._path, error_message(error))
            self._discard()

    def _lacking(self) -> "list[tuple[str, _File]]":
        """Return the executions whose current content is not in the index, except unreadable files."""
        return [
            (key, file)
            for key, file in self._wanted.items()
            if not self._has(key, file) and file not in self._unreadable
        ]

    def _has(self, key: str, file: _File) -> bool:
        """Tell if the index has the execution's current content, or any content if its file was deleted."""
        known = self._known.get(key)
        return known is not None and file.stamp in ("", known)

    def _open(self) -> None:
        """Open or create the file; recreate it if damaged; use memory if another explorer has it or it is read-only."""
        import duckdb

        if self._database is not None:
            return
        config: dict[str, Any] = {"memory_limit": _MEMORY_LIMIT}
        self._is_in_file = True
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = duckdb.connect(self._path, config=config)
        except OSError:
            database = duckdb.connect(config=config)
            self._is_in_file = False
        except duckdb.Error as error:
            if not any(words in str(error) for words in _IN_USE):
                with suppress(OSError):
                    self._path.unlink()
            self._is_in_file = not self._path.exists()
            database = duckdb.connect(self._path if self._is_in_file else ":memory:", config=config)
        self._database = database
        database.execute(f"CREATE TABLE IF NOT EXISTS samples ({_COLUMNS})")
        database.execute("CREATE TABLE IF NOT EXISTS artifacts (artifact VARCHAR, stamp VARCHAR)")
        self._known = dict(database.execute("FROM artifacts").fetchall())
        self._forget(database, self._known.keys() - self._wanted.keys())

    def _discard(self) -> None:
        """Remove a damaged index; the next request starts a new index."""
        with self._lock:
            database, self._database, self._known = self._database, None, {}
        if database is not None:
            database.close()
        if self._is_in_file:
            with suppress(OSError):
                self._path.unlink()

    def _forget(self, database: "DuckDBPyConnection", gone: set[str]) -> None:
        """Remove the executions ``gone`` from the index."""
        if not gone:
            return
        for table in ("samples", "artifacts"):
            database.execute(
                f"DELETE FROM {table} WHERE artifact IN (SELECT unnest($gone))",  # noqa: S608 - our own names
                {"gone": sorted(gone)},
            )
        for key in gone:
            self._known.pop(key, None)

    def _add(self, portion: "Mapping[str, _File]") -> None:
        """Add executions; if that fails for several, add each separately to detect the unreadable file."""
        import duckdb

        if self._database is None:
            return
        with self._lock:
            connection = self._database.cursor()
        try:
            with connection:
                connection.begin()
                self._forget(connection, portion.keys() & self._known.keys())
                files = [duckdb_path(file.path) for file in portion.values()]
                connection.execute(f"INSERT INTO samples {sql_of('explorer/indexed_samples')}", {"files": files})
                stamps = {"keys": list(portion), "stamps": [file.stamp for file in portion.values()]}
                connection.execute("INSERT INTO artifacts SELECT unnest($keys), unnest($stamps)", stamps)
                connection.commit()
        except duckdb.Error as error:
            if len(portion) > 1:
                for key, file in portion.items():
                    self._add({key: file})
                return
            [file] = portion.values()
            if not _is_readable(file.path):
                self._unreadable.add(file)
                logger.warning("%s: not searched: %s", file.path, error_message(error))
                return
            raise
        self._known |= {key: file.stamp for key, file in portion.items()}


def _stamp(path: str) -> str:
    """Return a stamp that changes with the file's content; empty if there is no file."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"


def _is_readable(path: str) -> bool:
    """Tell if a file of verdicts can be read; if so, an error came from the index."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute(sql_of("explorer/indexed_samples"), {"files": [duckdb_path(path)]})
    except duckdb.Error:
        return False
    return True


def _searched(query: SampleQuery) -> tuple[str, list[str], dict[str, Any]]:
    """Return the SQL of the searched common table, the conditions of words and variant, and their parameters."""
    listed = [
        {"artifact": artifact, "number": number, "hits": hits}
        for number, (artifact, hits) in enumerate(query.artifacts)
    ]
    parameters: dict[str, Any] = {"listed": json.dumps(listed)}
    tables = [f"listed AS (SELECT unnest(from_json($listed, '{_LISTED}'), recursive := true))"]
    joined, hits = "samples JOIN listed USING (artifact)", "listed.hits"
    if query.tasks is not None:
        parameters["tasks"] = json.dumps([{"task_id": task_id, "hits": hit} for task_id, hit in query.tasks.items()])
        tables.append(f"tasks AS (SELECT unnest(from_json($tasks, '{_TASKS}'), recursive := true))")
        joined += " JOIN tasks USING (task_id)"
        hits = "(listed.hits | tasks.hits)"
    tables.append(f"found AS (SELECT samples.*, listed.number, {hits} AS hits FROM {joined})")  # noqa: S608
    conditions = []
    for number, word in enumerate(query.words):
        parameters[f"word_{number}"] = word
        conditions.append(f"(contains(words, $word_{number}) OR hits & {1 << number} > 0)")
    if query.variant:
        parameters["variant"] = query.variant
        conditions.append("variant = $variant")
    return f"WITH {', '.join(tables)}", conditions, parameters


def _shown(
    query: SampleQuery, counts: Sequence[tuple[int, str, str, int]], offset: int, limit: int
) -> tuple[list[tuple[str, int]], int]:
    """Return the executions with samples in a range of the result, and the number of their samples before the range."""
    of_number: dict[int, int] = {}
    for number, status, kind, count in counts:
        if _fits(query, status, kind):
            of_number[number] = of_number.get(number, 0) + count
    shown: list[tuple[str, int]] = []
    before = skipped = 0
    for number in sorted(of_number):
        after = before + of_number[number]
        if after > offset and before < offset + limit:
            if not shown:
                skipped = offset - before
            shown.append(query.artifacts[number])
        before = after
    return shown, skipped


def _fits(query: SampleQuery, status: str, kind: str) -> bool:
    of_status = status != "pass" if query.status == "!pass" else query.status in ("", status)
    return of_status and query.kind in ("", kind)


def _found(rows: Sequence[Row], counts: Sequence[tuple[int, str, str, int]], query: SampleQuery) -> Found:
    statuses: dict[str, int] = {}
    kinds: dict[str, int] = {}
    total = 0
    for _, status, kind, count in counts:
        if query.kind in ("", kind):
            statuses[status] = statuses.get(status, 0) + count
        if kind:
            kinds[kind] = kinds.get(kind, 0) + count
        total += count if _fits(query, status, kind) else 0
    return Found(rows, _largest_first(statuses), _largest_first(kinds), total)


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
