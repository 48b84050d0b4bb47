"""Tables of the study: score difference in percentage points by cause, and the evidence for each sample."""

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa

from bigcodeflow.core.table import Headings, Table
from bigcodeflow.results.comparison.paired_tests import paired_interval
from bigcodeflow.results.formatting import numbers
from bigcodeflow_harnesses.explain import CAUSES

Row = dict[str, Any]


def tables(rows: pa.Table) -> list[Table]:
    """Return two tables: score difference in percentage points by cause, and the evidence for each sample."""
    found: list[Row] = rows.to_pylist()
    groups = {cause: [row for row in found if row["cause"] == cause] for cause in CAUSES} | {"all": found}
    lines = [_line(cause, group) for cause, group in groups.items() if group]
    columns: Headings = (
        "cause",
        *numbers("samples", "points"),
        "95 % interval",
        "right: first, second, open",
        "meaning",
    )
    note = "Points of the score, first minus second, over the tasks that both judge; intervals: 95 %, paired by task."
    samples = ("task_id", "sample_index", "first_status", "second_status")
    names = (*samples, "cause", "detail", "evidence", "right", "reason")
    told: Headings = ("cause", "detail", "evidence", "right", "because")
    headings: Headings = ("task", *numbers("sample"), "first", "second", *told)
    return [
        Table.of(columns, lines, title="Points of difference by cause", notes=(note,)),
        Table.of(headings, ([row[name] for name in names] for row in found), title="Samples whose verdicts differ"),
    ]


def _line(cause: str, rows: list[Row]) -> tuple[Any, ...]:
    shares: dict[str, float] = defaultdict(float)
    for row in rows:
        shares[row["task_id"]] += row["share"]
    total, right = rows[0]["n_tasks"], Counter(row["right"] for row in rows)
    ends = paired_interval([*shares.values(), *[0.0] * (total - len(shares))])
    points = f"{100 * sum(shares.values()) / total:+.1f}"
    interval, counts = (
        f"{100 * ends.low:+.1f} to {100 * ends.high:+.1f}",
        f"{right['first']}, {right['second']}, {right['']}",
    )
    return cause, len(rows), points, interval, counts, CAUSES.get(cause, "")
