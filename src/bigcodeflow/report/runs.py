"""The recorded runs of a report, their labels, and their tables as a single database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.results import models
from bigcodeflow.results.formatting import overall
from bigcodeflow.results.models import Row, database, rows_from, views
from bigcodeflow.results.runs import RecordedRun, find_run, latest_of_each, recorded_runs, titles

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Views, each with its artifact of a run and its schema.
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
    """Title of the run, with details that distinguish runs of the report with the same title."""
    recorded: RecordedRun
    metrics: Sequence[Row]
    """Rows of the run's METRICS table."""
    kinds: Sequence[tuple[str, str]]
    """Pairs of variant and sanitizer that were judged, calibrated first; the first represents the run in charts."""

    def of_lead(self, metric: str, slice_kind: str = "all") -> list[Row]:
        """Return the rows of a metric for the first of `kinds`."""
        lead = (metric, slice_kind, *self.kinds[0])
        return [
            row for row in self.metrics if (row["metric"], row["slice_kind"], row["variant"], row["sanitizer"]) == lead
        ]


def select_runs(store_root: Path | str, names: Sequence[str]) -> list[ReportedRun]:
    """Select runs by name, each run once, in the order of the names.

    A name is an argument of :func:`find_run`, or a pattern such as ``sweep+*``, which selects the latest record of each
    run whose name matches. Raises ArtifactError if a name fits no run.
    """
    chosen: dict[str, RecordedRun] = {}
    for name in names:
        if "*" not in name:
            fitting = [find_run(store_root, name)]
        else:
            fitting = latest_of_each(run for run in recorded_runs(store_root) if fnmatchcase(run.run, name))
        if not fitting:
            raise ArtifactError(
                f"{store_root}: no recorded run's name fits {name!r}: "
                "name one that it has, or run `bigcodeflow run` first"
            )
        chosen |= {run.record: run for run in fitting}
    found = []
    with database() as connection:
        for run in chosen.values():
            with views(connection, metrics=run.path("aggregation")):
                rows = list(rows_from(connection.execute("SELECT * FROM source_metrics")))
            found.append(reported_run(run, rows))
    lead_kinds = ([run.kinds[0][place] for run in found] for place in (0, 1))
    labels = titles(list(chosen.values()), *lead_kinds)
    return [replace(run, label=label) for run, label in zip(found, labels, strict=True)]


def reported_run(run: RecordedRun, metrics: Sequence[Row]) -> ReportedRun:
    """Combine a run with its METRICS rows, labelled by its title; raise ArtifactError if nothing was judged."""
    kinds = sorted({(row["variant"], row["sanitizer"]) for row in overall(metrics, "sample_count")})
    if not kinds:
        raise ArtifactError(
            f"run {run.record}: nothing was judged, so there is nothing to report: give it samples and run it again"
        )
    return ReportedRun(run.title, run, metrics, kinds)


@contextmanager
def opened(runs: Sequence[ReportedRun]) -> Iterator["DuckDBPyConnection"]:
    """Open a database with views ``tasks``, ``samples``, ``solutions``, ``ground_truths``, ``verdicts`` over all runs.

    Each has the columns of its schema and ``run_index``, the index in ``runs``. Tasks and ground truths that several
    runs share occur once, with the index of the first of these runs. Artifacts that a run never had, such as the
    answers of imported results, have no rows. Table ``runs`` has each run's split, its representative variant and
    sanitizer, and ``dataset_run`` and ``truth_run``, the indexes under which its tasks and ground truths occur. Table
    ``judged_tasks`` has all judged tasks, in the benchmark's order.
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
        for index, run in enumerate(runs):
            row = [index, run.recorded.split, *run.kinds[0], tasks_at[index], truths_at[index]]
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
        for view, (_, schema) in _VIEWS.items():
            # The empty table provides all current columns, even if earlier versions wrote artifacts without some.
            connection.register(f"empty_{view}", schema.empty_table())
            sides = [f'SELECT NULL::INTEGER AS run_index, * FROM "empty_{view}"']  # noqa: S608 - our own names
            for name in paths:
                of_view, _, number = name.rpartition("_")
                if of_view == view:
                    sides.append(f'SELECT {number} AS run_index, * FROM "source_{name}"')  # noqa: S608 - our own names
            connection.execute(f'CREATE TEMP VIEW "{view}" AS {" UNION ALL BY NAME ".join(sides)}')
        connection.execute(f"CREATE TEMP TABLE judged_tasks AS {models.sql_of('report/judged_tasks')}")
        yield connection


def _first_with(paths: Mapping[str, Path], view: str, runs: Sequence[ReportedRun]) -> list[int | None]:
    """Return for each run the index of the first run with the same artifact; None if the run has no artifact."""
    found: dict[Path, int] = {}
    own = [paths.get(f"{view}_{index}") for index in range(len(runs))]
    return [None if path is None else found.setdefault(path, index) for index, path in enumerate(own)]
