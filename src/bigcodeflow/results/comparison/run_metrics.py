"""Metrics of compared runs: scores, outcomes of samples, costs, and grids of a model's runs by request settings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bigcodeflow.results.comparison.run_selection import ComparedRun
from bigcodeflow.results.formatting import named_model
from bigcodeflow.results.models import rows_of
from bigcodeflow.results.run_tables import open_tables, tables_of
from bigcodeflow.results.statistics import Interval, estimate, pass_at_k

_LONGEST_VALUE = 40
_USAGE = (
    *("truncated_rate", "refusal_rate", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd"),
    *("n_cost_known", "median_latency_seconds"),
)


class Score(NamedTuple):
    """pass@k of a run, over the compared tasks for which the run has k judged samples."""

    label: str
    k: int
    value: float
    interval: Interval | None
    n_tasks: int
    temperature: float | None
    provisional: bool
    """True if some samples of the compared tasks were not judged, for reasons outside the samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Shares of outcomes, cost and time of all samples of a run, over all its tasks; None for unknown values."""

    label: str
    n_samples: int
    timeout_rate: float
    tampered_rate: float | None
    """Share of samples with status tampered; None if no passed sample was checked for tampering."""
    infra_error_rate: float
    truncated_rate: float | None = None
    refusal_rate: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Completion tokens, including reasoning."""
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    n_cost_known: int = 0
    """Number of answers whose price is known; ``cost_usd`` sums these prices."""
    median_latency_seconds: float | None = None
    """Median time from a request to its complete answer."""
    cpu_seconds: float | None
    """CPU time of judging all samples that were executed here; None for imported samples."""


class SolveRate(NamedTuple):
    """Mean share of passing samples of a task, over the ``n_sides`` runs with judged samples of the task."""

    task_id: str
    rate: float
    n_sides: int


def scores_of(run: ComparedRun, task_ids: Sequence[str], k: Sequence[int]) -> list[Score]:
    """Return a run's pass@k over ``task_ids``, with its 95 % interval, for each value in ``k``."""
    tasks = [run.tasks[task_id] for task_id in task_ids]
    provisional = any(task.n_judged < task.n_given for task in tasks)
    found = []
    for one in k:
        score = estimate([pass_at_k(task.n_judged, task.n_passed, one) for task in tasks if task.n_judged >= one])
        found.append(Score(run.label, one, score.value, score.interval, score.n_tasks, run.temperature, provisional))
    return found


def solve_rates(runs: Sequence[ComparedRun], task_ids: Sequence[str]) -> list[SolveRate]:
    """Return the solve rate of each task over all runs, in the tasks' order; skip tasks without judged samples."""
    found = []
    for task_id in task_ids:
        shares = [run.tasks[task_id].share for run in runs if run.tasks[task_id].n_judged]
        if shares:
            found.append(SolveRate(task_id, math.fsum(shares) / len(shares), len(shares)))
    return found


def rates_of(runs: Sequence[ComparedRun]) -> list[Rates]:
    """Return for each run the share of samples with each outcome, such as timeout, and the tokens, cost and time."""
    found = []
    with open_tables([tables_of(run.recorded) for run in runs]) as connection:
        for run, usage in zip(runs, rows_of(connection, "usage"), strict=True):
            kind = {"run_index": usage["run_index"], "variant": run.variant, "sanitizer": run.sanitizer}
            [outcomes] = rows_of(connection, "comparison_outcomes", kind)
            # Null: the answers were deleted.
            known = {name: usage[name] for name in _USAGE if usage[name] is not None}
            found.append(Rates(label=run.label, **outcomes, **known))
    return found


class GridRun(NamedTuple):
    """A run of a `Grid`: the run's values of the grid's ``parameters``, and the run's scores."""

    label: str
    values: tuple[float | str | None, ...]
    """Values of the grid's ``parameters``, in the same order; None is the provider's default."""
    scores: tuple[Score, ...]
    """One score for each k."""


class Grid(NamedTuple):
    """All runs of one model that differ in request settings, such as temperature."""

    model: str
    parameters: tuple[str, ...]
    """Names of parameters, such as temperature, top_p, max_tokens, n_samples or system."""
    settings: tuple[GridRun, ...]
    """Runs in the order of their values."""


def grids_of(runs: Sequence[ComparedRun], scores: Sequence[Score]) -> list[Grid]:
    """Return a `Grid` for each model whose runs differ in their request settings."""
    grids = []
    for model in dict.fromkeys(run.recorded.model for run in runs):
        ours = [run for run in runs if run.recorded.model == model and run.recorded.parameters]
        names = dict.fromkeys(name for run in ours for name in run.recorded.parameters)
        varied = [name for name in names if len({repr(run.recorded.parameters.get(name)) for run in ours}) > 1]
        if varied:
            settings = [
                GridRun(
                    run.label,
                    tuple(_shortened(run.recorded.parameters.get(name)) for name in varied),
                    tuple(score for score in scores if score.label == run.label),
                )
                for run in ours
            ]
            settings.sort(key=lambda setting: [_order(value) for value in setting.values])
            grids.append(Grid(str(named_model(model)), tuple(varied), tuple(settings)))
    return grids


def _shortened(value: Any) -> float | str | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"


def _order(value: float | str | None) -> tuple[int, float, str]:
    """Return a sort key: numbers first, then texts, then None (the provider's default)."""
    if value is None:
        return 2, 0.0, ""
    return (0, value, "") if isinstance(value, int | float) else (1, 0.0, value)
