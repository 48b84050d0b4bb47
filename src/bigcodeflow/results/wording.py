"""How scores are worded, in the terminal and in the Prefect UI alike; rows are those of a METRICS table."""

import math
from collections.abc import Iterator, Sequence

from bigcodeflow.results.models import Row


def overall(rows: Sequence[Row], metric: str) -> Iterator[Row]:
    """Rows of one metric over all tasks."""
    return (row for row in rows if row["slice_kind"] == "all" and row["metric"] == metric)


def identity(row: Row) -> tuple[str, str, int]:
    """What a score is of: variant, sanitizer and k."""
    return row["variant"], row["sanitizer"], row["k"]


def score_of(row: Row | None) -> str:
    """A score with the number of tasks behind it; empty where there is none."""
    return f"{percent(row['value'])} of {row['n_tasks']:,}" if row else ""


def interval(row: Row) -> str:
    """Both ends of the 95 % interval in percent; empty where there is none."""
    if row["ci_low"] is None or row["ci_high"] is None:
        return ""
    return f"{100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f}"


def percent(share: float) -> str:
    """A share in percent; NaN is the share of nothing."""
    return "none judged" if math.isnan(share) else f"{100 * share:.1f} %"
