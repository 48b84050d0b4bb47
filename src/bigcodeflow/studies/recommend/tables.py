"""A recommendation as tables and as JSON."""

from typing import Any

from bigcodeflow.core.table import Cell, Column, Headings, Table
from bigcodeflow.results.formatting import numbers, percent, percent_range, plain
from bigcodeflow.studies.recommend.ranking import Recommendation, probability
from bigcodeflow.studies.recommend.stack import shortened

#: Columns of a model's cost and time, with the attributes of its run.
_USAGE = {"USD a task": "cost_usd", "seconds a task": "latency_seconds"}


def tables(found: Recommendation) -> list[Table]:
    """Return the ranking, and the libraries with their numbers of tasks."""
    runs = [one.run for one in found.models]
    # Leave out columns that no run has recorded.
    usage = [name for name, attribute in _USAGE.items() if any(getattr(run, attribute) is not None for run in runs)]
    columns: Headings = (
        *numbers("rank"),
        Column("model", wrap="elide", min_width=20),
        Column("pass rate", "right", percent),
        Column("95 % interval", "right", percent_range),
        Column("best", "right", probability),
        *numbers("tasks"),
        Column("passed", "right", percent),
        *numbers(*usage),
    )
    rows = [
        (
            *(one.ranks, Cell(one.run.model, "strong" if one.rank_low == 1 else "")),
            *(one.rate, one.interval, one.best, one.n_tasks, one.observed),
            *(getattr(one.run, _USAGE[name]) for name in usage),
        )
        for one in found.models
    ]
    ranking = Table.of(
        columns,
        rows,
        title=f"Models on {found.n_tasks:,} tasks that use {shortened(found.libraries)}",
        notes=(found.sentence, *found.notes),
    )
    counts = sorted(found.n_tasks_of.items(), key=lambda one: (-one[1], one[0]))
    return [ranking, Table.of(["library", *numbers("tasks")], counts, title="Libraries of the stack")]


def as_json(found: Recommendation) -> dict[str, Any]:
    """Return everything for JSON, with shares in 0..1 and null for unknown values."""
    return {
        "libraries": found.n_tasks_of,
        "libraries_without_tasks": list(found.libraries_without_tasks),
        "split": found.split,
        "n_tasks": found.n_tasks,
        "summary": found.sentence,
        "notes": list(found.notes),
        "models": [
            {
                "rank": one.rank,
                "rank_low": one.rank_low,
                "rank_high": one.rank_high,
                "model": one.run.model,
                "record": one.run.record,
                "rate": one.rate,
                "ci_low": one.interval.low,
                "ci_high": one.interval.high,
                "probability_best": one.best,
                "n_tasks": one.n_tasks,
                "observed": one.observed,
                "cost_usd_per_task": one.run.cost_usd,
                "seconds_per_task": one.run.latency_seconds,
            }
            for one in found.models
        ],
        "weights_of_all_tasks": plain(found.weights),
    }
