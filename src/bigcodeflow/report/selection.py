"""Which recorded runs a report shows, and what each is called in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.formatting import overall
from bigcodeflow.results.models import Reader, Row, reader
from bigcodeflow.results.runs import RecordedRun, find_run, latest_of_each, recorded_runs, titles


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
