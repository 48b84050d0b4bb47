"""Tables of the study: the gap by kind with its interval, then the tasks whose variants pass less often."""

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.core.table import Cell, Column, Table, Tone
from bigcodeflow.results.comparison.paired_tests import SIGNIFICANCE_LEVEL, holm, mean_interval, sign_flip_p
from bigcodeflow.results.statistics import Interval
from bigcodeflow.studies.records import grouped

ALL_KINDS = "all kinds"
_ROUNDING = 1e-12
_Row = Mapping[str, Any]


class Gap(NamedTuple):
    """Gap between a model's scores on original tasks and on their variants of one kind; all shares are in 0..1."""

    kind: str
    n_tasks: int
    n_variants: int
    original: float
    """Mean share of passed samples on the original tasks."""
    perturbed: float
    """Mean over tasks of the mean share over a task's variants."""
    difference: float
    """Mean over tasks of the difference original - perturbed."""
    interval: Interval
    """95 % interval of the difference, by the bootstrap over tasks: a task with its variants is one cluster."""
    p: float
    """Two-sided p-value of the sign-flip test over tasks."""
    kept: float
    """Robustness: the chance that a variant's sample passes if a sample of the original passes; NaN if none passes."""


def gaps(rows: Sequence[_Row]) -> list[Gap]:
    """Return the gap of each kind in the order of the rows, and a gap over all kinds if there are several kinds.

    In the gap over all kinds, each task counts once, by the mean over its kinds.
    """
    by_kind = grouped(rows, itemgetter("kind"))
    found = [_gap(kind, [[row] for row in of_kind]) for kind, of_kind in by_kind.items()]
    if len(by_kind) > 1:
        found.append(_gap(ALL_KINDS, list(grouped(rows, itemgetter("task_id")).values())))
    return found


def _gap(kind: str, tasks: Sequence[Sequence[_Row]]) -> Gap:
    before = [rows[0]["original_share"] for rows in tasks]
    after = [math.fsum(row["perturbed_share"] for row in rows) / len(rows) for rows in tasks]
    differences = [one - other for one, other in zip(before, after, strict=True)]
    return Gap(
        kind,
        len(tasks),
        sum(row["variants"] for rows in tasks for row in rows),
        math.fsum(before) / len(tasks),
        math.fsum(after) / len(tasks),
        math.fsum(differences) / len(tasks),
        mean_interval(differences),
        sign_flip_p(differences),
        math.fsum(one * other for one, other in zip(before, after, strict=True)) / math.fsum(before)
        if any(before)
        else math.nan,
    )


def tables(rows: pa.Table) -> list[Table]:
    """Return the gaps by kind, then the tasks whose original is solved more often than its variants."""
    found = rows.to_pylist()
    return [_gap_table(found), _task_table(found)] if found else []


def _gap_table(rows: Sequence[_Row]) -> Table:
    found = gaps(rows)
    adjusted = holm([gap.p for gap in found])
    right = ("tasks", "variants", "original", "perturbed", "gap, points", "95 % interval", "p (Holm)", "kept")
    headings: list[str | Column] = ["kind", *(Column(one, "right", wrap="never") for one in right)]
    cells = [
        (
            *(gap.kind.replace("+", " + "), gap.n_tasks, gap.n_variants),
            *(f"{gap.original:.3f}", f"{gap.perturbed:.3f}", Cell(f"{100 * gap.difference:+.1f}", _tone(gap, p))),
            *(f"{100 * gap.interval.low:+.1f} … {100 * gap.interval.high:+.1f}", f"{p:.2g}"),
            "" if math.isnan(gap.kept) else f"{gap.kept:.0%}",
        )
        for gap, p in zip(found, adjusted, strict=True)
    ]
    note = (
        "gap: share of passed samples on original tasks less that on variants of the same tasks, paired by task; "
        "several variants of a task count as their mean. A gap above 0 whose interval leaves out 0 points to knowledge "
        "of the text itself. kept: of what passes in the original, the share that passes in variants."
    )
    return Table.of(headings, cells, title=f"{rows[0]['model']}: original against perturbed tasks", notes=[note])


def _tone(gap: Gap, p: float) -> Tone:
    if p >= SIGNIFICANCE_LEVEL:
        return ""
    return "bad" if gap.difference > 0 else "good"


def _task_table(rows: Sequence[_Row]) -> Table:
    lost = [row for row in rows if row["original_share"] > row["perturbed_share"] + _ROUNDING]
    lost.sort(key=lambda row: row["perturbed_share"] - row["original_share"])
    headings = ("task", "kind", Column("original", "right"), Column("perturbed", "right"), "variants that fail")
    cells = [
        (
            *(row["task_id"], row["kind"]),
            f"{row['original_passed']:,} of {row['original_samples']:,}",
            f"{row['perturbed_passed']:,} of {row['perturbed_samples']:,}",
            row["failed_variants"],
        )
        for row in lost
    ]
    return Table.of(headings, cells, title="Tasks solved in their original wording more often than in another")
