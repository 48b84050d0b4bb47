"""The recorded runs of a report, what each is called in it, and their tables as one database."""

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
    """A recorded run with the rows of its METRICS table, called by its title."""
    kinds = sorted({(row["variant"], row["sanitizer"]) for row in overall(metrics, "sample_count")})
    if not kinds:
        raise ArtifactError(
            f"run {run.record}: nothing was judged, so there is nothing to report: give it samples and run it again"
        )
    return ReportedRun(run.title, run, metrics, kinds)


@contextmanager
def opened(runs: Sequence[ReportedRun]) -> Iterator["DuckDBPyConnection"]:
    """A database with views ``tasks``, ``samples``, ``solutions``, ``ground_truths`` and ``verdicts`` over all runs.

    Each has the columns of its schema and ``run_index``, the run's place in ``runs``; tasks and ground truths that runs
    share stand there once, under the first of these. What a run never had, such as the answers of imported results,
    has no rows. Table ``runs`` has each run's split, the pair of variant and sanitizer that stands for it, and
    ``dataset_run`` and ``truth_run``: under which run its tasks and ground truths stand. Table ``judged_tasks`` has
    every task, in the benchmark's order.
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
            # The empty side keeps today's columns there where an artifact was written by a version that lacked one.
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
    """For each run the first one that has the same artifact; None where it has none."""
    found: dict[Path, int] = {}
    own = [paths.get(f"{view}_{index}") for index in range(len(runs))]
    return [None if path is None else found.setdefault(path, index) for index, path in enumerate(own)]
