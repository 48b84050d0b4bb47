"""The store's catalog as pages read it: opened read-only once a version, with the list of runs that most pages need."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import duckdb_path
from bigcodeflow.results.catalog.building import CATALOG_NAME
from bigcodeflow.results.catalog.description import quoted
from bigcodeflow.results.formatting import CONTRADICTED_TESTS, TASK_VARIANTS, board_title, named_model, title_of
from bigcodeflow.results.models import Row, readable, rows_from, sql_of
from bigcodeflow.results.runs import CONTROLS, RecordedRun, recorded_run
from bigcodeflow.store import open_store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Of the database that reads the catalog; a run that executes beside the explorer must not lack the memory.
_MEMORY_LIMIT = "1GiB"
_ALIAS = "results"


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A recorded run as lists show it: a row of ``sql/explorer/runs.sql``; None where a fact is not known."""

    record: str
    run: str
    model: str
    split: str | None
    subset: str | None
    split_mismatch: bool | None
    contradicted: bool
    task_variants: bool
    setting: str
    setting_key: str
    environment_sha: str | None
    harness_version: int | None
    started_at: datetime
    finished_at: datetime | None
    dataset_key: str | None
    generation_key: str | None
    ground_truth_key: str | None
    execution_key: str | None
    aggregation_key: str | None
    environment: str | None
    address: str | None
    """Base URL of the model's server; empty where it is the provider's own."""
    source: str | None
    """Where the answers came from: 'model', a control, or a file."""
    execution_file: str | None
    variant: str | None
    """With the sanitizer, what stands for the run in lists and charts."""
    sanitizer: str | None
    k: int | None
    pass_at_k: float | None
    ci_low: float | None
    ci_high: float | None
    n_tasks: int | None
    n_samples: int | None
    pass_at_k_judgeable: float | None
    ground_truth_rate: float | None
    provisional: bool | None
    n_answers: int | None
    n_unanswered: int | None
    cost_usd: float | None
    n_cost_known: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    median_latency_seconds: float | None
    cpu_seconds: float | None
    run_seconds: float | None

    @property
    def control(self) -> str:
        """The control that stands in for a model; empty where a model answered."""
        return self.source if self.source in CONTROLS else ""

    @property
    def who(self) -> str:
        """The model, or the control in its place."""
        return self.control or str(named_model(self.model))

    @property
    def board(self) -> str:
        """Subset and split: only scores of one board can be ranked."""
        return board_title(self.subset or "", self.split or "", self._kind_of_tasks)

    @property
    def title(self) -> str:
        """What people call it, such as 'gpt-4o · hard · instruct'; several runs may share it."""
        return title_of(self.control or self.model, self.subset or "", self.split or "", self._kind_of_tasks)

    @property
    def _kind_of_tasks(self) -> str:
        return CONTRADICTED_TESTS if self.contradicted else TASK_VARIANTS if self.task_variants else ""

    @property
    def own_name(self) -> str:
        """The name that somebody gave it, where it says more than the title does."""
        # A sweep names its runs MODEL-SPLIT-SUBSET-SETTING+GRID, of which only the end says more than the title.
        _, found, rest = self.run.partition(f"-{self.split}-{self.subset}")
        name = rest.lstrip("-+") if found else self.run
        return "" if name in ("run", self.model, self.who, self.control) else name

    @property
    def series(self) -> tuple[str | None, ...]:
        """Identify the runs that ask the same of a model: only their scores may be joined over the nights.

        They share model and setting, however the run was started or called, the dataset's content with the selected
        tasks, and the variant and sanitizer of the score. A later environment or version goes on with a series.
        """
        asked = (self.who, self.setting_key, self.split, self.subset, self.dataset_key)
        return (*asked, self.variant, self.sanitizer)


@dataclass(frozen=True)
class CatalogVersion:
    """The catalog as a run left it, and its runs, the latest first."""

    stamp: tuple[int, ...]
    database: "DuckDBPyConnection | None"
    """None: there is no catalog yet."""
    runs: Sequence[ListedRun] = ()
    memory: dict[Any, Any] = field(default_factory=dict)
    """What pages have computed of this version."""

    @cached_property
    def by_record(self) -> Mapping[str, ListedRun]:
        """Runs by the names of their records."""
        return {run.record: run for run in self.runs}

    @cached_property
    def series(self) -> Mapping[tuple[str | None, ...], Sequence[ListedRun]]:
        """Runs of the same thing on several nights, the latest first, by what they share."""
        found: dict[tuple[str | None, ...], list[ListedRun]] = {}
        for run in self.runs:
            found.setdefault(run.series, []).append(run)
        return found

    @cached_property
    def tasks(self) -> Mapping[str, Row]:
        """Facts of every task by its id, in the order of the dataset."""
        return {row["task_id"]: row for row in self.rows("tasks")}

    @cached_property
    def pass_shares(self) -> Mapping[str, float]:
        """The mean over models of a task's share of passing samples, by its id: each series in its latest run."""
        latest = [runs[0] for runs in self.series.values() if runs[0].execution_key and not runs[0].control]
        chosen = {(run.who, run.execution_key, run.variant, run.sanitizer) for run in latest}
        columns = ("model", "artifact", "variant", "sanitizer")
        listed = json.dumps([dict(zip(columns, one, strict=True)) for one in sorted(chosen, key=str)])
        return {row["task_id"]: row["pass_share"] for row in self.rows("pass_shares", chosen=listed)}

    def compute(self) -> None:
        """Compute what pages keep, so that none has to wait for it."""
        _ = self.by_record, self.series, self.tasks, self.pass_shares

    @contextmanager
    def opened(self) -> Iterator["DuckDBPyConnection"]:
        """A connection of this thread's own."""
        if self.database is None:
            raise ArtifactError("there is no catalog yet: the first run that ends makes it")
        with self.database.cursor() as connection:
            connection.execute(f"USE {_ALIAS}")
            yield connection

    def rows(self, model: str, **parameters: object) -> list[Row]:
        """The rows of a model below ``sql/explorer``; none where there is no catalog."""
        if self.database is None:
            return []
        with self.opened() as connection:
            return list(rows_from(connection.execute(sql_of(f"explorer/{model}"), parameters)))


class Catalog:
    """The catalog of one store, in the version that is there now."""

    def __init__(self, location: Path | str) -> None:
        self.store = open_store(location)
        self._lock = threading.Lock()
        self._version = CatalogVersion((), None)

    @property
    def path(self) -> Path:
        """The catalog's file; for a store at a URL it lies in the replica of this machine."""
        return self.store.root / CATALOG_NAME

    def version(self) -> CatalogVersion:
        """The catalog as it is now; an ArtifactError says that it cannot be read."""
        with self._lock:
            # Before the file is opened: one that is replaced meanwhile is opened again at the next request.
            stamp = self._stamp()
            if stamp != self._version.stamp:
                self._version = self._opened(stamp)
            return self._version

    def recorded(self, run: ListedRun) -> RecordedRun:
        """The run with its whole configuration and the places of its tables."""
        return recorded_run(self.store, run.record)

    def left_out(self, one: ListedRun, other: ListedRun) -> list[str]:
        """Tasks that a comparison leaves out: quarantined ones that either run excludes, and those of another test."""
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
        """The version in the file, in a database of its own: one that requests still read stays open beside it."""
        import duckdb

        if not stamp:
            return CatalogVersion(stamp, None)
        try:
            database = duckdb.connect(config={"memory_limit": _MEMORY_LIMIT})
            with readable(self.path) as place:
                database.execute(f"ATTACH {quoted(str(place))} AS {_ALIAS} (READ_ONLY)")
            rows = CatalogVersion(stamp, database).rows("runs")
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            raise ArtifactError(
                f"{self.path} cannot be read ({reason}): build it again with `bigcodeflow catalog --store "
                f"{self.store.location}`"
            ) from error
        return CatalogVersion(stamp, database, [ListedRun(**row) for row in rows])


def utc(moment: datetime) -> datetime:
    """The catalog's times, which have no zone, are UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
