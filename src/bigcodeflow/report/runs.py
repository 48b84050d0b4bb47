"""The recorded runs of a report, their labels, and their tables as a single database."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results import models
from bigcodeflow.results.formatting import overall
from bigcodeflow.results.models import Row
from bigcodeflow.results.run_tables import open_tables, tables_of
from bigcodeflow.results.runs import RecordedRun, find_run, latest_of_each, recorded_runs, titles

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
        """Return the rows of a metric for the run's first variant and sanitizer."""
        lead = (metric, slice_kind, *self.kinds[0])
        return [
            row for row in self.metrics if (row["metric"], row["slice_kind"], row["variant"], row["sanitizer"]) == lead
        ]


def select_runs(store_root: Path | str, names: Sequence[str]) -> list[ReportedRun]:
    """Select runs by name, each run once, in the order of the names.

    A name is an argument of :func:`find_run`, or a pattern such as ``sweep+*``, which selects the latest record of each
    run whose name matches. Raise ArtifactError if no run matches a name.
    """
    chosen: dict[str, RecordedRun] = {}
    for name in names:
        if "*" not in name:
            fitting = [find_run(store_root, name)]
        else:
            fitting = latest_of_each(
                run for run in recorded_runs(store_root) if fnmatchcase(run.run, name) and not run.labels.archived
            )
        if not fitting:
            raise ArtifactError(
                f"{store_root}: no recorded run matches the name {name!r}: "
                "name a run of this store, or run `bigcodeflow run` first"
            )
        chosen |= {run.record: run for run in fitting}
    return labelled([reported_run(run) for run in chosen.values()])


def labelled(runs: Sequence[ReportedRun]) -> list[ReportedRun]:
    """Return the runs with new labels, which distinguish the runs from one another."""
    lead_kinds = ([run.kinds[0][place] for run in runs] for place in (0, 1))
    labels = titles([run.recorded for run in runs], *lead_kinds)
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


def reported_run(run: RecordedRun) -> ReportedRun:
    """Return a run with its metrics, labelled by its title; raise ArtifactError if no sample was judged."""
    metrics = run.metrics()
    kinds = sorted({(row["variant"], row["sanitizer"]) for row in overall(metrics, "sample_count")})
    if not kinds:
        raise ArtifactError(
            f"run {run.record}: nothing was judged, so there is nothing to report: give it samples and run it again"
        )
    return ReportedRun(run.title, run, metrics, kinds)


@contextmanager
def opened(runs: Sequence[ReportedRun]) -> Iterator["DuckDBPyConnection"]:
    """Open the tables of the runs, see ``open_tables``; raise ArtifactError if the store lacks an artifact of a run.

    Table ``leads`` has the variant and sanitizer that represent each run, table ``judged_tasks`` all judged tasks, in
    the benchmark's order.
    """
    for run in runs:
        for artifact in run.recorded.keys:
            run.recorded.path(artifact)
    with open_tables([tables_of(run.recorded) for run in runs]) as connection:
        connection.execute("CREATE TEMP TABLE leads (run_index INTEGER, variant VARCHAR, sanitizer VARCHAR)")
        for index, run in enumerate(runs):
            connection.execute("INSERT INTO leads VALUES (?, ?, ?)", [index, *run.kinds[0]])
        connection.execute(f"CREATE TEMP TABLE judged_tasks AS {models.sql_of('report/judged_tasks')}")
        yield connection
