"""A recommendation as tables and as JSON."""

from typing import Any

from bigcodeflow.core.table import Cell, Column, Headings, Table
from bigcodeflow.results.formatting import numbers, percent, percent_range, plain
from bigcodeflow.studies.recommend.libraries import Stack, shortened
from bigcodeflow.studies.recommend.ranking import RankedModel, Recommendation, probability

#: Columns of a model's cost and time, with the attributes of its run.
_USAGE = {"USD a task": "cost_usd", "seconds a task": "latency_seconds"}


def tables(found: Recommendation, stack: Stack) -> list[Table]:
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
            *(rank(one, place), Cell(one.run.model, "strong" if one.rank_low == 1 else "")),
            *(one.rate, one.interval, one.best, one.n_tasks, one.observed),
            *(getattr(one.run, _USAGE[name]) for name in usage),
        )
        for place, one in enumerate(found.models, start=1)
    ]
    ranking = Table.of(
        columns,
        rows,
        title=f"Models on {found.n_tasks:,} tasks that use {shortened(found.libraries)}",
        notes=(found.sentence, *notes(found, stack)),
    )
    counts = sorted(found.n_tasks_of.items(), key=lambda one: (-one[1], one[0]))
    return [ranking, Table.of(["library", *numbers("tasks")], counts, title="Libraries of the stack")]


def notes(found: Recommendation, stack: Stack) -> list[str]:
    """Return the notes that belong to the ranking."""
    texts = [*found.notes, *stack.notes]
    if stack.without_tasks:
        texts.append(f"No recorded task uses {shortened(stack.without_tasks)}.")
    return texts


def as_json(found: Recommendation, stack: Stack) -> dict[str, Any]:
    """Return everything for JSON, with shares in 0..1 and null for unknown values."""
    return {
        "libraries": found.n_tasks_of,
        "libraries_without_tasks": list(stack.without_tasks),
        "split": found.split,
        "n_tasks": found.n_tasks,
        "summary": found.sentence,
        "notes": notes(found, stack),
        "models": [
            {
                "rank": place,
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
            for place, one in enumerate(found.models, start=1)
        ],
        "weights_of_all_tasks": plain(found.weights),
    }


def rank(one: RankedModel, place: int) -> str:
    """Format the place, with the 95 % interval of the rank if it has several ranks, such as '2 (1 to 4)'."""
    return f"{place}" if one.rank_low == one.rank_high else f"{place} ({one.rank_low} to {one.rank_high})"
