"""An index of every sample of every recorded run, in the user's cache: what searches across runs look in.

The catalog has no samples, and to read the tables of a thousand runs takes seconds. The index holds a row a sample
with the cause of its failure; a thread adds the runs that are new. It can be deleted at any time.
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

#: Bump when the rows or their columns change: another version's file is not opened.
_VERSION = 3
_MEMORY_LIMIT = "1GiB"
#: Runs that are added at once: so many appear together, and so many are lost when the process ends.
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

#: What DuckDB says of a file that another explorer has open, in another process or in this one.
_IN_USE = ("Could not set lock", "different configuration")

logger = logging.getLogger(__name__)


class _File(NamedTuple):
    """A file of verdicts, and what changes with its content."""

    path: str
    stamp: str


class SampleQuery(NamedTuple):
    """Which samples are wanted; what is empty wants all."""

    artifacts: Sequence[tuple[str, int]]
    """Executions in which they are looked for, in the order of the result, each with the words that its run fits: bit
    i stands for word i."""
    words: Sequence[str] = ()
    """All must occur, in small letters."""
    tasks: Mapping[str, int] | None = None
    """Ids of the tasks that fit, each with the words that the task fits; None: every task does, and no word."""
    status: str = ""
    """'!pass' wants all that did not pass."""
    kind: str = ""
    variant: str = ""


class Found(NamedTuple):
    """Samples that a query wants."""

    rows: Sequence[Row]
    """A portion of them; ``number`` is the place of the execution in the query."""
    statuses: Mapping[str, int]
    """Number of samples by status, the filter on it left out."""
    kinds: Mapping[str, int]
    """Number of samples by failure kind, the filters on it and on the status left out."""
    total: int


class Progress(NamedTuple):
    """How much of the recorded runs is indexed."""

    done: int
    total: int


class SampleIndex:
    """The index of one store."""

    def __init__(self, location: str, folder: Path | None = None) -> None:
        name = f"{hashlib.sha256(location.encode()).hexdigest()[:16]}-v{_VERSION}.duckdb"
        self._path = (folder or cache_folder() / "explorer") / name
        self._lock = threading.Lock()
        self._database: DuckDBPyConnection | None = None
        self._thread: threading.Thread | None = None
        self._wanted: Mapping[str, _File] = {}
        self._known: dict[str, str] = {}
        """Stamps of the files that are in the index, by the keys of executions."""
        self._unreadable: set[_File] = set()
        self._stopped = False
        self._is_in_file = True

    def refresh(self, files: Mapping[str, str]) -> None:
        """Have a thread add the executions, Parquet files by key, that are not in the index; the first come first."""
        # What is executed again, to judge the rest, keeps its key.
        wanted = {key: _File(path, _stamp(path)) for key, path in files.items()}
        with self._lock:
            self._wanted = wanted
            is_running = self._thread is not None and self._thread.is_alive()
            if is_running or self._stopped or not self._lacking():
                return
            self._thread = threading.Thread(target=self._fill, name="sample index", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Return when the thread has added what it was given."""
        if (thread := self._thread) is not None:
            thread.join()

    def close(self) -> None:
        """Stop adding, and close the file."""
        self._stopped = True
        self.wait()
        if self._database is not None:
            self._database.close()

    @property
    def progress(self) -> Progress:
        """How many of the executions that were asked for are in the index."""
        readable = {key: file for key, file in self._wanted.items() if file not in self._unreadable}
        return Progress(sum(self._has(key, file) for key, file in readable.items()), len(readable))

    def search(self, query: SampleQuery, *, offset: int = 0, limit: int = 50) -> Found:
        """The samples that a query wants, those of the first executions first."""
        with self._lock:
            if self._database is None:
                return Found((), {}, {}, 0)
            connection = self._database.cursor()
        with connection:
            source, conditions, parameters = _searched(query)
            where = " AND ".join(conditions) or "true"
            # Only counts of all runs are taken from the whole index; the rows are those of a few runs.
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
        """Add what is wanted, in portions, until nothing is left."""
        import duckdb

        try:
            self._open()
            while not self._stopped and (lacking := self._lacking()):
                self._add(dict(lacking[:_RUNS_AT_ONCE]))
        except duckdb.Error as error:
            logger.warning("%s: the index of samples is made anew: %s", self._path, error_message(error))
            self._discard()

    def _lacking(self) -> "list[tuple[str, _File]]":
        """Executions that are not in the index as they are now."""
        return [
            (key, file)
            for key, file in self._wanted.items()
            if not self._has(key, file) and file not in self._unreadable
        ]

    def _has(self, key: str, file: _File) -> bool:
        """Whether the index has the execution as it is now, or as it was when its file was there."""
        known = self._known.get(key)
        return known is not None and file.stamp in ("", known)

    def _open(self) -> None:
        """Open the file, or make it; a damaged one is made anew, and one that another explorer has is not used."""
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
            is_in_use = any(words in str(error) for words in _IN_USE)
            place: Path | str = ":memory:" if is_in_use else self._path
            with suppress(OSError):
                Path(place).unlink()
            database = duckdb.connect(place, config=config)
            self._is_in_file = not is_in_use
        self._database = database
        database.execute(f"CREATE TABLE IF NOT EXISTS samples ({_COLUMNS})")
        database.execute("CREATE TABLE IF NOT EXISTS artifacts (artifact VARCHAR, stamp VARCHAR)")
        self._known = dict(database.execute("FROM artifacts").fetchall())
        self._forget(database, self._known.keys() - self._wanted.keys())

    def _discard(self) -> None:
        """Remove an index that turned out to be damaged; the next request begins another one."""
        with self._lock:
            database, self._database, self._known = self._database, None, {}
        if database is not None:
            database.close()
        if self._is_in_file:
            with suppress(OSError):
                self._path.unlink()

    def _forget(self, database: "DuckDBPyConnection", gone: set[str]) -> None:
        """Remove executions that no recorded run has any more."""
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
        """Add executions; of several of which one cannot be read each by itself, to find that one."""
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
    """What changes with a file's content; empty where there is no file."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"


def _is_readable(path: str) -> bool:
    """Whether a file of verdicts can be read, so that what failed was the index."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute(sql_of("explorer/indexed_samples"), {"files": [duckdb_path(path)]})
    except duckdb.Error:
        return False
    return True


def _searched(query: SampleQuery) -> tuple[str, list[str], dict[str, Any]]:
    """The common table that is searched, the conditions of words and variant, and their parameters."""
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
    """The executions whose samples are in a portion of the result, and how many of their samples come before it."""
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
