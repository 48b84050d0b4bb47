"""The tables that end a run in the terminal."""

import itertools
import math
from collections.abc import Iterator, Sequence

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bigcodeflow.results.aggregation import GroundTruthFailure
from bigcodeflow.results.formatting import (
    flaky_ground_truths,
    identity,
    interval,
    notes,
    overall,
    percent,
    score_of,
    several_samples,
)
from bigcodeflow.results.models import Row

_MOST_TASKS_NAMED = 12
_MOST_ROWS = 12


def render_summary(
    metrics: pa.Table, *, failures: Sequence[GroundTruthFailure] = (), title: str = "Results"
) -> RenderableType:
    """What a run found: scores, ground truths, domains, failure kinds, and a warning where samples were not judged.

    Args:
        metrics: a table in METRICS schema.
        failures: the tasks whose ground truth does not pass, to be named beside the rate.
        title: heading of the scores, such as the run's name.
    """
    rows = metrics.to_pylist()
    parts = [
        _scores(rows, title),
        _ground_truths(rows, failures),
        *(Text(note, style="yellow") for note in notes(rows)),
        _several_samples(rows),
        _by_domain(rows),
        _counts(rows, "failure_kind", "Failures by kind"),
        _counts(rows, "integrity", "Checks of passes against contradicting tests"),
        _counts(rows, "solution", "Flags of solutions"),
        *_warnings(rows),
    ]
    return Group(*(part for part in parts if part is not None))


def _scores(rows: Sequence[Row], title: str) -> RenderableType:
    judgeable = {identity(row): row for row in overall(rows, "pass@k_judgeable")}
    provisional = {_kind(row) for row in overall(rows, "infra_error_count") if row["value"]}
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("variant", "sanitizer", "score"):
        table.add_column(heading, no_wrap=True)
    for heading in ("value", "95 % interval", "judgeable"):
        table.add_column(heading, justify="right")
    for row in overall(rows, "pass@k"):
        value = percent(row["value"]) + (" (provisional)" if _kind(row) in provisional else "")
        other = judgeable.get(identity(row))
        table.add_row(
            row["variant"],
            row["sanitizer"],
            f"pass@{row['k']}",
            Text(value, style="bold"),
            interval(row),
            score_of(other),
        )
        table.title = f"{title}: {row['n_samples']:,} samples of {row['n_tasks']:,} tasks"
    if not table.row_count:
        return Text("No pass@k: every requested k is larger than the number of samples of some task.", style="yellow")
    return table


def _ground_truths(rows: Sequence[Row], failures: Sequence[GroundTruthFailure]) -> RenderableType | None:
    rate = next(overall(rows, "ground_truth_rate"), None)
    if rate is None:
        return None
    if math.isnan(rate["value"]):
        return Text("Ground truths: none", style="yellow")
    passed = round(rate["value"] * rate["n_tasks"])
    line = f"Ground truths: {passed:,} of {rate['n_tasks']:,} pass ({percent(rate['value'])})"
    line += flaky_ground_truths(rows)
    if failures:
        named = [
            f"{failed.task_id} ({failed.failure_kind or failed.status})" for failed in failures[:_MOST_TASKS_NAMED]
        ]
        rest = len(failures) - len(named)
        line += "; not judgeable here: " + ", ".join(named) + (f" and {rest:,} more" if rest else "")
    return Text(line, style="green" if rate["value"] == 1 else "yellow")


def _several_samples(rows: Sequence[Row]) -> RenderableType | None:
    named = list(several_samples(rows))
    cells = {(name, _kind(row)): f"{percent(row['value'])}  {interval(row)}" for name, row in named}
    names = list(dict.fromkeys(name for name, _ in named))
    return _crossed("Several samples a task", "metric", names, cells) if named else None


def _by_domain(rows: Sequence[Row]) -> RenderableType | None:
    scores = [row for row in rows if row["slice_kind"] == "domain" and row["metric"] == "pass@k"]
    if not scores:
        return None
    k = min(row["k"] for row in scores)
    scores = [row for row in scores if row["k"] == k]
    cells = {(row["slice"], _kind(row)): f"{percent(row['value'])}  {interval(row)}" for row in scores}
    n_tasks = {row["slice"]: f"{row['n_tasks']:,}" for row in scores}
    return _crossed(f"pass@{k} by domain", "domain", sorted(n_tasks), cells, ("tasks", n_tasks))


def _counts(rows: Sequence[Row], slice_kind: str, title: str) -> RenderableType | None:
    ours = [row for row in rows if row["slice_kind"] == slice_kind]
    shares = {(row["slice"], _kind(row)): row["value"] for row in ours if row["metric"] == "sample_share"}
    counts = {(row["slice"], _kind(row)): row["value"] for row in ours if row["metric"] == "sample_count"}
    if not counts:
        return None
    cells = {place: f"{count:,.0f}  {percent(shares[place])}" for place, count in counts.items()}
    totals: dict[str, float] = {}
    for (name, _), count in counts.items():
        totals[name] = totals.get(name, 0) + count
    names = sorted(totals, key=lambda name: (-totals[name], name))
    for name, kind in itertools.product(names, {_kind(row) for row in overall(rows, "sample_count")}):
        cells.setdefault((name, kind), "0")
    return _crossed(title, slice_kind.replace("_", " "), names[:_MOST_ROWS], cells)


def _crossed(
    title: str,
    heading: str,
    names: Sequence[str],
    cells: dict[tuple[str, tuple[str, str]], str],
    last: tuple[str, dict[str, str]] | None = None,
) -> Table:
    """One row a name, one column a variant and sanitizer, and perhaps a last column."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(heading)
    kinds = sorted({kind for _, kind in cells})
    for variant, sanitizer in kinds:
        table.add_column(f"{variant}, {sanitizer}", justify="right")
    if last:
        table.add_column(last[0], justify="right")
    for name in names:
        row = [cells.get((name, kind), "") for kind in kinds]
        table.add_row(name.replace("_", " "), *row, *([last[1][name]] if last else []))
    return table


def _warnings(rows: Sequence[Row]) -> Iterator[Text]:
    for row in overall(rows, "infra_error_count"):
        if row["value"]:
            yield Text(
                f"Warning: {row['value']:,.0f} of {row['n_samples']:,} samples ({row['variant']}, {row['sanitizer']}) "
                "were not judged for reasons outside the samples; the score is provisional: run again to judge them.",
                style="bold red",
            )


def _kind(row: Row) -> tuple[str, str]:
    return row["variant"], row["sanitizer"]
