"""What became of the samples that did not pass, as tables for the Prefect UI."""

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from bigcodeflow.results.formatting import percent

Row = dict[str, Any]

_MOST_LIBRARIES = 10
_KIND = ["variant", "sanitizer"]
_CAUSE = ["status", "failure_kind"]


def failure_rows(verdicts: pa.Table) -> list[dict[str, str]]:
    """One row a variant, sanitizer, status and cause that samples did not pass with, most frequent first.

    Args:
        verdicts: variant, sanitizer, status and failure_kind of a table in VERDICTS schema.
    """
    counts = verdicts.group_by([*_KIND, *_CAUSE]).aggregate([([], "count_all")]).to_pylist()
    totals: dict[tuple[str, str], int] = {}
    for row in counts:
        totals[_kind(row)] = totals.get(_kind(row), 0) + row["count_all"]
    failed = [row for row in counts if row["status"] != "pass"]
    failed.sort(key=lambda row: (_kind(row), -row["count_all"], row["status"], row["failure_kind"]))
    return [
        {
            **{name: row[name] for name in _KIND},
            "status": _words(row["status"]),
            "cause": _words(row["failure_kind"]),
            "samples": f"{row['count_all']:,}",
            "share": percent(row["count_all"] / totals[_kind(row)]),
        }
        for row in failed
    ]


def library_rows(metrics: Sequence[Row]) -> list[dict[str, str]]:
    """The libraries whose tasks cost the score most, at the smallest k; a task counts in each of its libraries.

    Args:
        metrics: rows of a METRICS table.
    """
    scores = [
        row
        for row in metrics
        if row["slice_kind"] == "library" and row["metric"] == "pass@k" and not math.isnan(row["value"])
    ]
    smallest = min((row["k"] for row in scores), default=0)
    lost = [(row["n_tasks"] * (1 - row["value"]), row) for row in scores if row["k"] == smallest]
    lost.sort(key=lambda pair: (_kind(pair[1]), -pair[0], pair[1]["slice"]))
    shown: dict[tuple[str, str], list[dict[str, str]]] = {}
    for tasks_lost, row in lost:
        rows = shown.setdefault(_kind(row), [])
        if tasks_lost > 0 and len(rows) < _MOST_LIBRARIES:
            rows.append(
                {
                    **{name: row[name] for name in _KIND},
                    "library": row["slice"],
                    "tasks": f"{row['n_tasks']:,}",
                    f"pass@{smallest}": percent(row["value"]),
                }
            )
    return [row for rows in shown.values() for row in rows]


def _kind(row: Row) -> tuple[str, str]:
    return row["variant"], row["sanitizer"]


def _words(name: str) -> str:
    return name.replace("_", " ")
