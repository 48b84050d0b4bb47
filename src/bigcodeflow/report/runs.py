"""The recorded runs of a report, what each is called in it, and their tables as one database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.results import models
from bigcodeflow.results.formatting import overall
from bigcodeflow.results.models import Reader, Row, reader
from bigcodeflow.results.runs import RecordedRun, find_run, latest_of_each, recorded_runs, titles

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: View → artifact of a run, and its schema.
_VIEWS = {
    "tasks": ("dataset", TASKS),
    "samples": ("generation", SAMPLES),
    "solutions": ("sanitizing", SOLUTIONS),
    "ground_truths": ("ground_truth", VERDICTS),
    "verdicts": ("execution", VERDICTS),
}


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A recorded run with its metrics and its name in the report."""

    label: str
    """The run's title, and what tells it apart where several runs of the report share it."""
    recorded: RecordedRun
    metrics: Sequence[Row]
    """Rows of its METRICS table."""
    kinds: Sequence[tuple[str, str]]
    """Pairs of variant and sanitizer that were judged, calibrated first: the first stands for the run in charts."""

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None where no model was asked or the provider's default was taken."""
        if self.recorded.config.get("samples", {}).get("source") != "model":
            return None
        value = self.recorded.config.get("generation", {}).get("sampling", {}).get("temperature")
        return float(value) if isinstance(value, int | float) else None

    def of_lead(self, metric: str, slice_kind: str = "all") -> list[Row]:
        """Rows of one metric for the first of `kinds`."""
        lead = (metric, slice_kind, *self.kinds[0])
        return [
            row for row in self.metrics if (row["metric"], row["slice_kind"], row["variant"], row["sanitizer"]) == lead
        ]


def select_runs(store_root: Path | str, names: Sequence[str]) -> list[ReportedRun]:
    """The runs that the names mean, each once, in the order of the names.

    A name is what :func:`find_run` takes, or a pattern such as ``sweep+*``, which takes the latest record of every run
    whose name fits.

    Raises:
        ArtifactError: a name that no run has, or a run whose metrics are gone.
    """
    chosen: dict[str, RecordedRun] = {}
    for name in names:
        fitting = _fitting(store_root, name) if "*" in name else [find_run(store_root, name)]
        chosen |= {run.record: run for run in fitting}
    runs = list(chosen.values())
    with reader() as tables:
        found = [_reported(run, tables) for run in runs]
    kinds = ([run.kinds[0][place] for run in found] for place in (0, 1))
    labels = titles(runs, *kinds)
    return [replace(run, label=label) for run, label in zip(found, labels, strict=True)]


def _fitting(store_root: Path | str, pattern: str) -> list[RecordedRun]:
    fitting = [run for run in recorded_runs(store_root) if fnmatchcase(run.run, pattern)]
    if not fitting:
        raise ArtifactError(
            f"{store_root}: no recorded run's name fits {pattern!r}: "
            "name one that it has, or run `bigcodeflow run` first"
        )
    return latest_of_each(fitting)


def _reported(run: RecordedRun, tables: Reader) -> ReportedRun:
    with tables.of(metrics=run.path("aggregation")) as connection:
        rows = connection.sql("SELECT * FROM source_metrics").to_arrow_table().to_pylist()
    kinds = sorted({(row["variant"], row["sanitizer"]) for row in overall(rows, "sample_count")})
    if not kinds:
        raise ArtifactError(
            f"run {run.record}: nothing was judged, so there is nothing to report: give it samples and run it again"
        )
    return ReportedRun(run.title, run, rows, kinds)


@contextmanager
def opened(runs: Sequence[ReportedRun]) -> Iterator["DuckDBPyConnection"]:
    """A database with views ``tasks``, ``samples``, ``solutions``, ``ground_truths`` and ``verdicts`` over all runs.

    Each has the columns of its schema and ``run_index``, the run's place in ``runs``; tasks and ground truths that runs
    share stand there once, under the first of these. What a run never had, such as the answers of imported results,
    has no rows. Table ``runs`` has each run's split, the pair of variant and sanitizer that stands for it, and
    ``dataset_run`` and ``truth_run``: under which run its tasks and ground truths stand. Table ``judged_tasks`` has
    every task, in the benchmark's order.

    Raises:
        ArtifactError: an artifact that a run recorded is gone or cannot be read.
    """
    paths = {
        f"{view}_{index}": run.recorded.path(artifact)
        for view, (artifact, _) in _VIEWS.items()
        for index, run in enumerate(runs)
        if view == "verdicts" or artifact in run.recorded.keys
    }
    tasks_at, truths_at = _first_with(paths, "tasks", runs), _first_with(paths, "ground_truths", runs)
    for view, places in (("tasks", tasks_at), ("ground_truths", truths_at)):
        for index, first in enumerate(places):
            if first != index:
                paths.pop(f"{view}_{index}", None)
    with models.sources(**paths) as connection:
        connection.execute(
            "CREATE TEMP TABLE runs (run_index INTEGER, split VARCHAR, variant VARCHAR, sanitizer VARCHAR, "
            "dataset_run INTEGER, truth_run INTEGER)"
        )
        connection.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            [
                [index, run.recorded.split, *run.kinds[0], tasks_at[index], truths_at[index]]
                for index, run in enumerate(runs)
            ],
        )
        for view, (_, schema) in _VIEWS.items():
            _create_view(connection, view, schema, [name for name in paths if name.rpartition("_")[0] == view])
        connection.execute(f"CREATE TEMP TABLE judged_tasks AS {models.sql_of('report/judged_tasks')}")
        yield connection


def _first_with(paths: Mapping[str, Path], view: str, runs: Sequence[ReportedRun]) -> list[int | None]:
    """For each run the first one that has the same artifact; None where it has none."""
    found: dict[Path, int] = {}
    own = [paths.get(f"{view}_{index}") for index in range(len(runs))]
    return [None if path is None else found.setdefault(path, index) for index, path in enumerate(own)]


def _create_view(connection: "DuckDBPyConnection", view: str, schema: pa.Schema, sources: Sequence[str]) -> None:
    # The empty side keeps today's columns there where an artifact was written by a version that lacked one.
    connection.register(f"empty_{view}", schema.empty_table())
    sides = [f'SELECT NULL::INTEGER AS run_index, * FROM "empty_{view}"']  # noqa: S608 - our own names
    sides += [f'SELECT {name.rpartition("_")[2]} AS run_index, * FROM "source_{name}"' for name in sources]  # noqa: S608 - our own names
    connection.execute(f'CREATE TEMP VIEW "{view}" AS {" UNION ALL BY NAME ".join(sides)}')
