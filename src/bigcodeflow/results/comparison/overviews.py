"""Each side by itself: its scores, what became of its samples, what they cost, and how hard the tasks are for all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results import models
from bigcodeflow.results.comparison.common_tasks import counts
from bigcodeflow.results.comparison.reading import Reader, reader
from bigcodeflow.results.comparison.sides import Side
from bigcodeflow.results.statistics import Interval, estimate, pass_at_k


@dataclass(frozen=True, slots=True)
class Score:
    """pass@k of one side over the compared tasks that have k judged samples of it."""

    label: str
    k: int
    value: float
    interval: Interval | None
    n_tasks: int
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Rates:
    """What became of a side's samples, over all its tasks, and what they took; None where it is not known."""

    label: str
    n_samples: int
    timeout_rate: float
    tampered_rate: float
    infra_error_rate: float
    truncated_rate: float | None
    refusal_rate: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    """Reasoning included."""
    reasoning_tokens: int | None
    cost_usd: float | None
    n_cost_known: int
    """Answers whose price is known; cost_usd is the sum of these."""
    median_latency_seconds: float | None
    """From a request to its complete answer."""
    cpu_seconds: float | None
    """Of judging, over all samples that were executed here; None for imported ones."""


@dataclass(frozen=True, slots=True)
class SolveRate:
    """Mean over the sides of a task's share of samples that pass, of the sides that have a judged sample."""

    task_id: str
    rate: float
    n_sides: int


def scores_of(side: Side, task_ids: Sequence[str], k: Sequence[int]) -> list[Score]:
    """The side's pass@k with its 95 % interval, for each k; see docs/statistics.md."""
    tasks = counts(side, task_ids)
    found = []
    for one in k:
        judged = [task for task in tasks if task.n_judged >= one]
        # Thousands of tasks have a few dozen pairs of counts.
        values_of = {
            counted: pass_at_k(*counted, one) for counted in {(task.n_judged, task.n_passed) for task in judged}
        }
        values = [values_of[task.n_judged, task.n_passed] for task in judged]
        score = estimate(values)
        found.append(Score(side.label, one, score.value, score.interval, score.n_tasks, side.temperature))
    return found


def solve_rates(sides: Sequence[Side], task_ids: Sequence[str]) -> list[SolveRate]:
    """The solve rate of each task over all sides, in the tasks' order; tasks without any judged sample are left out."""
    found = []
    for task_id in task_ids:
        shares = [side.tasks[task_id].share for side in sides if side.tasks[task_id].n_judged]
        if shares:
            found.append(SolveRate(task_id, math.fsum(shares) / len(shares), len(shares)))
    return found


def rates_of(sides: Sequence[Side]) -> list[Rates]:
    """Rates, tokens, cost and time of each side.

    Raises:
        ArtifactError: a table of a run cannot be read.
    """
    with reader() as tables:
        return [_rates(side, tables) for side in sides]


def _rates(side: Side, tables: Reader) -> Rates:
    samples = _kept(side, "generation")
    there = {"samples": samples} if samples else {}
    with tables.of(verdicts=side.run.path("execution"), **there) as connection:
        kind = {"variant": side.variant, "sanitizer": side.sanitizer}
        [outcomes] = models.rows_of(connection, "comparison_outcomes", kind)
        [usage] = models.rows_of(connection, "comparison_usage") if there else [{}]
    n_samples = outcomes["n_samples"]
    return Rates(
        label=side.label,
        n_samples=n_samples,
        timeout_rate=outcomes["timeout_count"] / n_samples,
        tampered_rate=outcomes["tampered_count"] / n_samples,
        infra_error_rate=outcomes["infra_error_count"] / n_samples,
        truncated_rate=_share(usage.get("truncated_count"), usage.get("n_finish_known")),
        refusal_rate=_share(usage.get("refusal_count"), usage.get("n_finish_known")),
        **{name: usage.get(name) for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd")},
        n_cost_known=usage.get("n_cost_known", 0),
        median_latency_seconds=usage.get("median_latency_seconds"),
        cpu_seconds=outcomes["cpu_seconds"],
    )


def _kept(side: Side, artifact: str) -> Path | None:
    """The artifact's file; None where the run has none or it was deleted, which costs a column and no comparison."""
    try:
        return side.run.path(artifact)
    except ArtifactError:
        return None


def _share(count: int | None, whole: int | None) -> float | None:
    return count / whole if whole and count is not None else None
