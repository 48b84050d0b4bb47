"""Tables that the terminal shows at the end of a run."""

import itertools
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.results.aggregation import GroundTruthFailure
from bigcodeflow.results.formatting import (
    ground_truths,
    interval,
    kind_of,
    notes,
    numbers,
    overall,
    percent,
    score_of,
    scores_of,
    several_samples,
    unjudged_notes,
    without_equal_raw,
)
from bigcodeflow.results.models import Row

_MOST_NAMED = 12
#: Titles of tables by kind of slice.
_COUNTED = {
    "failure_kind": "Failures by kind",
    "integrity": "Checks of passes against contradicting tests",
    "solution": "Flags of solutions",
}


def render_summary(
    metrics: pa.Table, *, failures: Sequence[GroundTruthFailure] = (), title: str = "Results"
) -> RenderableType:
    """Render a run's results: scores, ground truths, domains, failure kinds, and warnings about unjudged samples.

    ``metrics`` is a table in METRICS schema; ``failures`` are tasks whose ground truth fails; the text names them.
    """
    every: list[Row] = metrics.to_pylist()
    rows = without_equal_raw(every)
    parts = [
        _scores(rows, title),
        *((Text("Raw solutions: the same in every number"),) if len(rows) < len(every) else ()),
        *(_ground_truths(rate, rows, failures) for rate in overall(rows, "ground_truth_rate")),  # imports may lack it
        *(Text(note, style="yellow") for note in notes(rows)),
        _several_samples(rows),
        _by_domain(rows),
        *(_counts(rows, slice_kind, heading) for slice_kind, heading in _COUNTED.items()),
        *(Text(f"Warning: {note}", style="bold red") for note in unjudged_notes(rows)),
    ]
    return Group(*(part for part in parts if not isinstance(part, Table) or part.rows))


def brief_score(metrics: pa.Table) -> str:
    """Return the first score of the summary in one line; empty if there is no score."""
    for variant, sanitizer, name, value, ends, _ in _score_cells(metrics.to_pylist()):
        return f"{name} {value.value}, 95 % interval {ends} ({variant}, {sanitizer})"
    return ""


def _scores(rows: Sequence[Row], title: str) -> RenderableType:
    scores, cells = scores_of(rows), _score_cells(rows)
    if not scores:
        return Text("No pass@k: every requested k is larger than the number of samples of some task.", style="yellow")
    headings = [Column(heading, wrap="never") for heading in ("variant", "sanitizer", "score")]
    headings += numbers("value", "95 % interval", "judgeable")
    # The smallest k, for which the most tasks have enough judged samples.
    least = min((row for _, row, _ in scores), key=lambda row: row["k"])
    title = f"{title}: {least['n_samples']:,} samples of {least['n_tasks']:,} tasks"
    return Table.of(headings, cells, title=title)


def _score_cells(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    provisional = {kind_of(row) for row in overall(rows, "infra_error_count") if row["value"]}
    return [
        (
            *(row["variant"], row["sanitizer"], name),
            Cell(percent(row["value"]) + (" (provisional)" if kind_of(row) in provisional else ""), "strong"),
            *(interval(row), score_of(judgeable)),
        )
        for name, row, judgeable in scores_of(rows)
    ]


def _ground_truths(rate: Row, rows: Sequence[Row], failures: Sequence[GroundTruthFailure]) -> Text:
    line = f"Ground truths: {ground_truths(rows) or 'none'}"
    if failures:
        named = ", ".join(f"{one.task_id} ({one.failure_kind or one.status})" for one in failures[:_MOST_NAMED])
        rest = len(failures) - _MOST_NAMED
        line += f"; not judgeable here: {named}" + (f" and {rest:,} more" if rest > 0 else "")
    return Text(line, style="green" if rate["value"] == 1 else "yellow")


def _several_samples(rows: Sequence[Row]) -> Table:
    scores = list(several_samples(rows))
    cells = {(name, kind_of(row)): f"{percent(row['value'])}  {interval(row)}" for name, row in scores}
    return _by_kind("Several samples a task", "metric", list(dict.fromkeys(name for name, _ in scores)), cells)


def _by_domain(rows: Sequence[Row]) -> Table:
    scores = [row for row in rows if row["slice_kind"] == "domain" and row["metric"] == "pass@k"]
    k = min((row["k"] for row in scores), default=1)
    scores = [row for row in scores if row["k"] == k]
    cells = {(row["slice"], kind_of(row)): f"{percent(row['value'])}  {interval(row)}" for row in scores}
    n_tasks = {row["slice"]: row["n_tasks"] for row in sorted(scores, key=itemgetter("slice"))}
    table = _by_kind(f"pass@{k} by domain", "domain", list(n_tasks), cells)
    with_tasks = [[*row, number] for row, number in zip(table.rows, n_tasks.values(), strict=True)]
    return Table.of([*table.columns, Column("tasks", "right")], with_tasks, title=table.title)


def _counts(rows: Sequence[Row], slice_kind: str, title: str) -> Table:
    ours = [row for row in rows if row["slice_kind"] == slice_kind]
    totals: Counter[str] = Counter()
    # A variant and sanitizer without such samples has no row here.
    kinds = {kind_of(row) for row in overall(rows, "sample_count")} if ours else set()
    cells = dict.fromkeys(itertools.product({row["slice"] for row in ours}, kinds), "0")
    for row in ours:
        if row["metric"] == "sample_count":
            totals[row["slice"]] += row["value"]
            share = percent(row["value"] / row["n_samples"])
            cells[row["slice"], kind_of(row)] = f"{row['value']:,.0f}  {share}"
    names = sorted(totals, key=lambda name: (-totals[name], name))
    return _by_kind(title, slice_kind.replace("_", " "), names[:_MOST_NAMED], cells)


def _by_kind(title: str, heading: str, names: Sequence[str], cells: dict[tuple[str, str], str]) -> Table:
    kinds = sorted({kind for _, kind in cells})
    rows = [[name.replace("_", " "), *(cells.get((name, kind), "") for kind in kinds)] for name in names]
    return Table.of((heading, *numbers(*kinds)), rows, title=title)
