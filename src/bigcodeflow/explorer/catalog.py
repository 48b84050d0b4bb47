"""The store's catalog (results.duckdb) for the explorer: opened read-only, and opened again after each rebuild."""

import json
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import duckdb_path
from bigcodeflow.core.plugins import benchmark_name, shown_benchmark
from bigcodeflow.pipeline.live_files import LiveState, ended_runs
from bigcodeflow.results.catalog.building import CATALOG_NAME, rebuild_catalog
from bigcodeflow.results.catalog.description import quoted
from bigcodeflow.results.formatting import CONTRADICTED_TESTS, TASK_VARIANTS, board_title, named_model, title_of
from bigcodeflow.results.models import Row, readable, rows_from, sql_of
from bigcodeflow.results.runs import CONTROLS, RecordedRun, recorded_run, recorded_runs
from bigcodeflow.store import open_store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Limit of the database that reads the catalog, so that runs which execute at the same time have enough memory.
_MEMORY_LIMIT = "1GiB"
_ALIAS = "results"

Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in lists of the explorer: a row of ``sql/explorer/runs.sql``; unknown facts are None."""

    record: str
    run: str
    model: str
    started_at: datetime
    split: str | None = None
    subset: str | None = None
    split_mismatch: bool | None = None
    contradicted: bool = False
    task_variants: bool = False
    selection: str = ""
    """Share of the subset's tasks that the run has, such as '60 of 1,140 tasks'; empty for all of them."""
    setting: str = ""
    setting_key: str = ""
    environment_sha: str | None = None
    harness_version: int | None = None
    tags: Sequence[str] = ()
    note: str = ""
    archived: bool = False
    dataset_key: str | None = None
    generation_key: str | None = None
    execution_key: str | None = None
    environment: str | None = None
    address: str | None = None
    """Base URL of the model's server; empty for the provider's default URL."""
    source: str | None = None
    """Source of the answers: 'model', a control, or a file."""
    dataset: str | None = None
    """Source of the tasks."""
    variant: str | None = None
    """Variant that, with the sanitizer, represents the run in lists and charts."""
    sanitizer: str | None = None
    k: int | None = None
    pass_at_k: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n_tasks: int | None = None
    provisional: bool | None = None
    n_answers: int | None = None
    cost_usd: float | None = None
    n_cost_known: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cpu_seconds: float | None = None
    run_seconds: float | None = None
    outcome: str = "finished"
    """'finished'; 'crashed', 'cancelled' or 'killed' for runs without a record, whose ``record`` is the run's id."""
    error: str = ""
    """Message of the error that ended the run."""

    @classmethod
    def of_ended(cls, state: LiveState) -> "ListedRun":
        """Make the list entry of a run that ended without a record."""
        config = state.config
        reached = f"{state.stage}, {state.done:,} of {state.total:,}" if state.total else state.stage
        return cls(
            record=state.run_id,
            run=config.get("name") or state.name,
            model=state.model or state.name,
            started_at=state.started_at.replace(tzinfo=None),
            split=state.split,
            subset=state.subset,
            environment=config.get("execution", {}).get("environment"),
            source=config.get("samples", {}).get("source"),
            dataset=config.get("dataset", {}).get("source"),
            run_seconds=(state.updated_at - state.started_at).total_seconds(),
            outcome=state.outcome,
            error=": ".join(filter(None, (reached, state.error))),
        )

    def exported(self) -> dict[str, Any]:
        """Return the run's facts by name, as JSON and CSV output contains them."""
        named = {{"who": "model", "run": "name"}.get(name, name): getattr(self, name) for name in _EXPORTED}
        return named | {"tags": list(self.tags), "started_at": self.started_at.isoformat(timespec="seconds")}

    @property
    def control(self) -> str:
        """Name of the control that replaces a model; empty if the answers have another source."""
        return self.source if self.source in CONTROLS else ""

    @property
    def who(self) -> str:
        """Name of the model, or of the control that replaces it."""
        return self.control or str(named_model(self.model))

    @property
    def benchmark(self) -> str:
        """Name of the benchmark, see ``benchmark_name``; empty if it is not known."""
        return benchmark_name(self.dataset or "")

    @property
    def board(self) -> str:
        """Title of the run's board: benchmark, subset, split, kind of tasks; only scores of a board can be ranked."""
        benchmark = shown_benchmark(self.dataset or "")
        return board_title(self.subset or "", self.split or "", self._kind_of_tasks, benchmark=benchmark)

    @property
    def title(self) -> str:
        """Title for people, such as 'gpt-4o · hard · instruct'; several runs may share it."""
        subset, split, benchmark = self.subset or "", self.split or "", shown_benchmark(self.dataset or "")
        return title_of(self.control or self.model, subset, split, self._kind_of_tasks, benchmark=benchmark)

    @property
    def _kind_of_tasks(self) -> str:
        kind = CONTRADICTED_TESTS if self.contradicted else TASK_VARIANTS if self.task_variants else ""
        return kind or self.selection

    @property
    def own_name(self) -> str:
        """Name that a user gave the run, if it says more than the title; else empty."""
        # A sweep names its runs MODEL-SPLIT-SUBSET-SETTING+GRID; only the end says more than the title.
        _, found, rest = self.run.partition(f"-{self.split}-{self.subset}")
        name = rest.lstrip("-+") if found else self.run
        return "" if name in ("run", self.model, self.who, self.control) else name

    @property
    def series(self) -> tuple[str | None, ...]:
        """Key of runs that repeat one evaluation of a model, such as every night: their scores form a series.

        Runs of a series share the model, the setting, the dataset's content with the selected tasks, and the variant
        and sanitizer of the score. Names of runs, environments and versions of the judge may differ.
        """
        asked = (self.who, self.setting_key, self.split, self.subset, self.dataset_key)
        return (*asked, self.variant, self.sanitizer)


#: Attributes of a run in JSON and CSV, in their order.
_EXPORTED = (
    *("record", "run", "who", "split", "subset", "outcome", "error", "started_at", "run_seconds"),
    *("k", "pass_at_k", "ci_low", "ci_high", "provisional", "n_tasks", "variant", "sanitizer", "cost_usd"),
    *("selection", "benchmark", "dataset", "setting", "environment", "tags", "note", "archived"),
)
#: Orders of a list of runs: key of a run, and True if large values come first; runs whose key is None come last.
ORDERS: Mapping[str, tuple[Callable[[ListedRun], Any], bool]] = {
    "began": (lambda run: run.started_at, True),
    "run": (lambda run: (run.title, run.run), False),
    "score": (lambda run: run.pass_at_k, True),
    "tasks": (lambda run: run.n_tasks, True),
    "cost": (lambda run: run.cost_usd, True),
    "took": (lambda run: run.run_seconds, True),
    "dataset": (lambda run: run.dataset, False),
    "sampling": (lambda run: run.setting, False),
    "environment": (lambda run: run.environment, False),
}


def ordered(runs: Sequence[ListedRun], order: str) -> list[ListedRun]:
    """Sort runs by ``order``, a name in ORDERS; a minus sign before the name reverses the order."""
    key, descending = ORDERS[order.removeprefix("-")]
    known = [run for run in runs if key(run) is not None]
    known.sort(key=key, reverse=descending != order.startswith("-"))
    return known + [run for run in runs if key(run) is None]


class RunFilter(NamedTuple):
    """Filter of runs; an attribute that is empty or None matches every run."""

    equal: Mapping[str, str] = {}
    """Values that attributes of a run must have, by name of the attribute."""
    words: Sequence[str] = ()
    """Words in lower case that title, name, record, tags or note must contain."""
    tag: str = ""
    since: date | None = None
    until: date | None = None

    def fits(self, run: ListedRun) -> bool:
        """Tell if a run matches all filters."""
        day = utc(run.started_at).date()
        text = "\n".join((run.title, run.run, run.record, *run.tags, run.note)).lower()
        return (
            all(getattr(run, attribute) == value for attribute, value in self.equal.items() if value)
            and (not self.tag or self.tag in run.tags)
            and (self.since is None or day >= self.since)
            and (self.until is None or day <= self.until)
            and all(word in text for word in self.words)
        )


@dataclass(frozen=True)
class CatalogVersion:
    """A version of the catalog, and its runs, the latest first.

    ``stamp`` identifies the version: inode, modification time and size of the file; empty if there is no file.
    """

    stamp: tuple[int, ...]
    database: "DuckDBPyConnection | None"
    """Database with the catalog attached; None if there is no catalog yet."""
    runs: Sequence[ListedRun] = ()
    """Runs that are not archived."""
    archived: Sequence[ListedRun] = ()
    memory: dict[Any, Any] = field(default_factory=dict)
    """Cache of results that pages computed from this version of the catalog."""

    def kept(self, name: Hashable, compute: Callable[[], Computed]) -> Computed:
        """Return ``compute()``, cached under ``name`` as long as this version of the catalog is current."""
        if name not in self.memory:
            self.memory[name] = compute()
        found: Computed = self.memory[name]
        return found

    @cached_property
    def by_record(self) -> Mapping[str, ListedRun]:
        """Runs by record name, archived ones included."""
        return {run.record: run for run in (*self.runs, *self.archived)}

    @cached_property
    def series(self) -> Mapping[tuple[str | None, ...], Sequence[ListedRun]]:
        """Runs by series key; the latest run of a series is first."""
        found: dict[tuple[str | None, ...], list[ListedRun]] = {}
        for run in self.runs:
            found.setdefault(run.series, []).append(run)
        return found

    @cached_property
    def tasks(self) -> Mapping[str, Row]:
        """Rows of ``sql/explorer/tasks.sql`` by task id, in the order of the dataset."""
        return {row["task_id"]: row for row in self.rows("tasks")}

    @cached_property
    def pass_shares(self) -> Mapping[str, float]:
        """Share of passing samples by task id: the mean of the models' shares.

        Each model counts with the latest run of each of its series; controls do not count.
        """
        latest = [runs[0] for runs in self.series.values() if runs[0].execution_key and not runs[0].control]
        chosen = {(run.who, run.execution_key, run.variant, run.sanitizer) for run in latest}
        columns = ("model", "artifact", "variant", "sanitizer")
        listed = json.dumps([dict(zip(columns, one, strict=True)) for one in sorted(chosen, key=str)])
        return {row["task_id"]: row["pass_share"] for row in self.rows("pass_shares", chosen=listed)}

    @contextmanager
    def opened(self) -> Iterator["DuckDBPyConnection"]:
        """Open a separate connection for this thread; raise ArtifactError if there is no catalog."""
        if self.database is None:
            raise ArtifactError("there is no catalog yet: run a model first, which makes the catalog at its end")
        with self.database.cursor() as connection:
            connection.execute(f"USE {_ALIAS}")
            yield connection

    def rows(self, model: str, **parameters: object) -> list[Row]:
        """Return the rows of the query in the file ``model`` of ``sql/explorer``; empty if there is no catalog."""
        if self.database is None:
            return []
        with self.opened() as connection:
            return list(rows_from(connection.execute(sql_of(f"explorer/{model}"), parameters)))


class Catalog:
    """The catalog of a store, always in its current version."""

    def __init__(self, location: Path | str) -> None:
        self.store = open_store(location)
        self._lock = threading.Lock()
        self._version = CatalogVersion((0,), None)  # of no file: the first request opens it

    @property
    def path(self) -> Path:
        """Path of the catalog's file; for a store at a URL it is in the replica on this machine."""
        return self.store.root / CATALOG_NAME

    def version(self) -> CatalogVersion:
        """Return the current version of the catalog; raise ArtifactError if it cannot be read."""
        with self._lock:
            # Before the file is opened: if it is replaced in between, the next request opens it again.
            stamp = self._stamp()
            if stamp != self._version.stamp:
                self._version = self._opened(stamp)
            return self._version

    def listed(self, version: CatalogVersion, *, archived: bool = False) -> list[ListedRun]:
        """Return all runs for a list, the latest first: recorded ones, and those that ended without a record."""
        ended = map(ListedRun.of_ended, ended_runs(self.store.root))
        return ordered([*version.runs, *(version.archived if archived else ()), *ended], "began")

    def recorded(self, run: ListedRun) -> RecordedRun:
        """Read the run's record, with its whole configuration and the keys of its artifacts."""
        return recorded_run(self.store, run.record)

    def left_out(self, one: ListedRun, other: ListedRun) -> list[str]:
        """Return the ids of tasks that a comparison of two runs leaves out, sorted.

        These are the tasks that either run excludes, and those whose tests differ in the two datasets.
        """
        runs = self.recorded(one), self.recorded(other)
        found = runs[0].excluded | runs[1].excluded
        if one.dataset_key != other.dataset_key:
            first, second = (run.path_if_kept("dataset") for run in runs)
            if first and second:
                rows = self._version.rows("other_tests", first=duckdb_path(first), second=duckdb_path(second))
                found |= {row["task_id"] for row in rows}
        return sorted(found)

    def _stamp(self) -> tuple[int, ...]:
        try:
            status = self.path.stat()
        except OSError:
            return ()
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _opened(self, stamp: tuple[int, ...]) -> CatalogVersion:
        """Open the catalog's file; rebuild it first if it is missing, or lacks tables or columns that are needed."""
        import duckdb

        if not stamp and not recorded_runs(self.store.location):
            return CatalogVersion(stamp, None)
        try:
            if not stamp:
                rebuild_catalog(self.store.location)
            try:
                return self._read(self._stamp())
            except (duckdb.BinderException, duckdb.CatalogException):  # a table or a column is missing
                rebuild_catalog(self.store.location)
                return self._read(self._stamp())
        except (duckdb.Error, OSError) as error:
            reason = " ".join(str(error).split())
            raise ArtifactError(
                f"{self.path} cannot be read ({reason}): build it again with `bigcodeflow catalog --store "
                f"{self.store.location}`"
            ) from error

    def _read(self, stamp: tuple[int, ...]) -> CatalogVersion:
        """Read the catalog through a new database, since requests may still use the database of the former version."""
        import duckdb

        database = duckdb.connect(config={"memory_limit": _MEMORY_LIMIT})
        with readable(self.path) as place:
            database.execute(f"ATTACH {quoted(str(place))} AS {_ALIAS} (READ_ONLY)")
        database.execute(f"FROM {_ALIAS}.stored.verdicts LIMIT 0")  # which catalogs of earlier versions lack
        runs = [ListedRun(**row) for row in CatalogVersion(stamp, database).rows("runs")]
        shown, archived = ([run for run in runs if run.archived is is_archived] for is_archived in (False, True))
        return CatalogVersion(stamp, database, shown, archived)


def utc(moment: datetime) -> datetime:
    """Return the time in UTC; times without zone, as in the catalog, are UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
