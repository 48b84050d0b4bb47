"""Rank models by their pass rates on the tasks of a stack's libraries, pooled with their pass rates on all tasks.

The ranking is available as tables and as JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.table import Cell, Column, Headings, Table
from bigcodeflow.results.formatting import numbers, percent, percent_range, plain
from bigcodeflow_studies.recommend.stack import Stack, shortened

Array = NDArray[np.float64]

_N_DRAWS = 2_000
_SEED = 0
_ENDS = (0.025, 0.975)
#: Columns of a model's cost and time, with their attributes.
_USAGE = {"USD a task": "cost_usd_per_task", "seconds a task": "seconds_per_task"}
#: Libraries with fewer tasks are not used to estimate how much libraries differ.
_FEWEST_TASKS = 10
#: Limits for `Weights`. The upper limit holds even if the known libraries hardly differ, since another library may be
#: different.
_LEAST_WEIGHT, _MOST_WEIGHT = 2.0, 50.0
#: Outcomes of two added tasks, passed and failed: a model that passes every task is not sure to pass the next.
_ADDED = (1.0, 0.0)


class ModelRun(NamedTuple):
    """Recorded run that represents a model in the ranking."""

    model: str
    record: str
    cost_usd: float | None
    """Mean price of an answer, as recorded when the model was asked; None if not recorded."""
    latency_seconds: float | None
    """Median time until an answer was complete; None if not recorded."""


class Weights(NamedTuple):
    """Prior weights of the mean over all tasks; a weight of 10 counts as much as 10 tasks of the stack's libraries."""

    level: float
    """Weight for the mean of the models: large if libraries are equally hard."""
    difference: float
    """Weight for the models' differences from that mean: large if models differ alike on all libraries."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of models on tasks: shares of passing samples; a task counts once, however many samples it has."""

    task_ids: Sequence[str]
    shares: Array
    """Array of shape (models, tasks) with shares in 0..1; NaN if the model was not judged on the task."""
    libraries: Sequence[frozenset[str]]
    """Libraries of each task."""

    @cached_property
    def n_tasks_of(self) -> dict[str, int]:
        """Number of tasks by library, in the order of names."""
        names = sorted({name for names in self.libraries for name in names})
        return {name: sum(name in names for names in self.libraries) for name in names}

    @cached_property
    def weights(self) -> Weights:
        """Weights estimated from libraries with enough tasks, by the method of moments.

        A library's observed mean varies for two reasons: the library's true mean has variance T around the mean of all
        tasks, and only n tasks were observed. If single tasks have variance S, T corresponds to a prior weight of
        S / T - 1 tasks.
        """
        mean = np.nanmean(self.shares, axis=0)
        common = [name for name, n_tasks in self.n_tasks_of.items() if n_tasks >= _FEWEST_TASKS]
        uses = np.array([[name in names for names in self.libraries] for name in common], dtype=bool)
        masks = uses.reshape(-1, len(self.task_ids))
        return Weights(_learnt_weight(mean[None], masks), _learnt_weight(self.shares - mean, masks))


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """Outcomes of the models that can be ranked, ordered by name, and notes on the runs that are left out."""

    runs: Sequence[ModelRun]
    outcomes: Outcomes
    split: str
    notes: tuple[str, ...]
    """Sentences about runs that do not count, with reasons."""


class RankedModel(NamedTuple):
    """Rank and pass rate of a model on a stack's tasks; field names are the JSON output's keys, shares are in 0..1."""

    rank: int
    rank_low: int
    rank_high: int
    """Upper end of the 95 % interval of the rank, which begins at ``rank_low``; rank 1 is the best."""
    model: str
    record: str
    rate: float
    """Posterior mean of the model's pass rate on tasks like those of the stack."""
    ci_low: float
    ci_high: float
    """Upper end of the 95 % credible interval of ``rate``, which begins at ``ci_low``."""
    probability_best: float
    """Probability that the model's pass rate is the highest of all models."""
    n_tasks: int
    """Number of tasks of the stack on which the model was judged."""
    observed: float | None
    """Observed pass rate on these ``n_tasks`` tasks; None if ``n_tasks`` is 0."""
    cost_usd_per_task: float | None
    seconds_per_task: float | None

    @property
    def ranks(self) -> str:
        """Rank with its 95 % interval, such as '2 (1 to 4)'; without the interval if the interval is a single rank."""
        return str(self.rank) + (f" ({self.rank_low} to {self.rank_high})" if self.rank_low < self.rank_high else "")


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Models ranked by their pass rates on the tasks of a stack, the best first."""

    models: Sequence[RankedModel]
    n_tasks: int
    """Number of tasks that use any library of the stack."""
    n_tasks_of: dict[str, int]
    """Number of tasks by library of the stack."""
    split: str
    weights: Weights
    notes: tuple[str, ...]
    """Sentences about runs that do not count, libraries without tasks, and lines that name no distribution."""
    libraries_without_tasks: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Sentence that names the best model and its probability of being the best."""
        first = self.models[0]
        equal = [one.model for one in self.models[1:] if one.rank_low == 1]
        rest = f"; {shortened(equal)} may be as good" if equal else ""
        return (
            f"{first.model} has the highest pass rate on these tasks, with a probability of "
            f"{probability(first.probability_best)} that no other model's is higher{rest}."
        )


def recommendation(evidence: Evidence, stack: Stack) -> Recommendation:
    """Rank the models on the tasks that use any library of the stack.

    The rate is the mean pass rate on a population of tasks like those of the stack, see `drawn_rates`.

    Raises:
        ConfigError: no task uses any library of the stack.
    """
    outcomes, wanted, notes = evidence.outcomes, frozenset(stack.libraries), [*evidence.notes, *stack.notes]
    places = [place for place, names in enumerate(outcomes.libraries) if names & wanted]
    if not places:
        raise ConfigError(f"no recorded task uses {shortened(sorted(wanted)) or 'no library'}: name other libraries")
    rates = drawn_rates(outcomes, places, n_draws=_N_DRAWS, seed=_SEED)
    if stack.without_tasks:
        notes.append(f"No recorded task uses {shortened(stack.without_tasks)}.")
    return Recommendation(
        models=_ranked(evidence.runs, rates, outcomes.shares[:, places]),
        n_tasks=len(places),
        n_tasks_of={name: outcomes.n_tasks_of[name] for name in sorted(wanted, key=str.lower)},
        split=evidence.split,
        weights=outcomes.weights,
        notes=tuple(notes),
        libraries_without_tasks=stack.without_tasks,
    )


def probability(share: float) -> str:
    """Format a probability in whole percent; never as 0 or 100 %, since it is estimated from random draws."""
    return "> 99 %" if share > 0.99 else "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"  # noqa: PLR2004


def _ranked(runs: Sequence[ModelRun], rates: Array, observed: Array) -> list[RankedModel]:
    """Rank models by mean rate, the best first; ``rates`` has shape (draws, models), ``observed`` (models, tasks)."""
    means = rates.mean(axis=0)
    ends = np.quantile(rates, _ENDS, axis=0)
    # Equal draws are ordered at random: ordered by place, the first of equal models would surely be the best.
    ranks = np.argsort(np.lexsort((np.random.default_rng(_SEED).random(rates.shape), -rates), axis=1), axis=1) + 1
    rank_ends = np.quantile(ranks, _ENDS, axis=0, method="inverted_cdf")
    best = (ranks == 1).mean(axis=0)
    found = []
    for rank, place in enumerate(np.argsort(-means, kind="stable"), start=1):
        run, judged = runs[place], observed[place][np.isfinite(observed[place])]
        found.append(
            RankedModel(
                rank=rank,
                rank_low=int(rank_ends[0, place]),
                rank_high=int(rank_ends[1, place]),
                model=run.model,
                record=run.record,
                rate=float(means[place]),
                ci_low=float(ends[0, place]),
                ci_high=float(ends[1, place]),
                probability_best=float(best[place]),
                n_tasks=len(judged),
                observed=float(judged.mean()) if len(judged) else None,
                cost_usd_per_task=run.cost_usd,
                seconds_per_task=run.latency_seconds,
            )
        )
    return found


def _learnt_weight(values: Array, masks: NDArray[np.bool_]) -> float:
    """Return the prior weight of the mean over all tasks, as a number of tasks; `Outcomes.weights` explains it.

    ``values`` has shape (rows, tasks), NaN where unknown; ``masks`` (libraries, tasks) tells which tasks use a library.
    """
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    single = float(np.nanmean(np.nanvar(values, axis=1)))
    true = [np.nanmean(centred[:, mask], axis=1) ** 2 - np.nanvar(centred[:, mask], axis=1, ddof=1) / mask.sum()
            for mask in masks]  # fmt: skip
    between = float(np.mean(true)) if true else 0.0
    if between <= 0:
        return _MOST_WEIGHT
    return float(np.clip(single / between - 1, _LEAST_WEIGHT, _MOST_WEIGHT))


def drawn_rates(outcomes: Outcomes, places: Sequence[int], *, n_draws: int, seed: int) -> Array:
    """Draw the models' pass rates on a population of tasks like those at ``places``, columns of ``outcomes.shares``.

    The result has shape (draws, models), each value in 0..1. The population is unknown: it is drawn from a Dirichlet
    process around all tasks, given the tasks at ``places``, by random weights of the recorded tasks. All models get the
    same weights, so that the difficulty of tasks cancels out in differences. The models' mean and their differences
    from it are drawn separately, as libraries differ more in their difficulty than in the ranking of models. Sources:
    Ferguson 1973, "A Bayesian Analysis of Some Nonparametric Problems"; Rubin 1981, "The Bayesian Bootstrap".
    """
    generator = np.random.default_rng(seed)
    mean = np.append(np.nanmean(outcomes.shares, axis=0), _ADDED)
    added = np.zeros((len(outcomes.shares), len(_ADDED)))
    differences = np.hstack([outcomes.shares, added + _ADDED]) - mean
    level = _weighted(mean[None], places, outcomes.weights.level, n_draws, generator)
    return np.clip(level + _weighted(differences, places, outcomes.weights.difference, n_draws, generator), 0.0, 1.0)


def _weighted(
    values: Array, places: Sequence[int], weight: float, n_draws: int, generator: np.random.Generator
) -> Array:
    """Draw weights of tasks by a Bayesian bootstrap; return weighted means, shape (draws, rows).

    ``values`` has shape (rows, tasks), NaN where unknown. The tasks at ``places`` count as observed, 1 each; all tasks
    together have the prior ``weight``.
    """
    shapes = np.full(values.shape[1], weight / values.shape[1])
    shapes[list(places)] += 1.0
    drawn = generator.standard_gamma(shapes, size=(n_draws, len(shapes)))
    known = np.isfinite(values)
    # No matrix products: their threads wait for each other longer than these sums take.
    total = np.einsum("dt,rt->dr", drawn, np.where(known, values, 0.0))
    found: Array = total / np.einsum("dt,rt->dr", drawn, known.astype(np.float64))
    return found


def tables(found: Recommendation) -> list[Table]:
    """Return two tables: the ranking, and the libraries of the stack with their numbers of tasks."""
    # Leave out columns that no run has recorded.
    usage = [name for name, own in _USAGE.items() if any(getattr(one, own) is not None for one in found.models)]
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
            *(one.ranks, Cell(one.model, "strong" if one.rank_low == 1 else "")),
            *(one.rate, (one.ci_low, one.ci_high), one.probability_best, one.n_tasks, one.observed),
            *(getattr(one, _USAGE[name]) for name in usage),
        )
        for one in found.models
    ]
    ranking = Table.of(
        columns,
        rows,
        title=f"Models on {found.n_tasks:,} tasks that use {shortened(list(found.n_tasks_of))}",
        notes=(found.sentence, *found.notes),
    )
    counts = sorted(found.n_tasks_of.items(), key=lambda one: (-one[1], one[0]))
    return [ranking, Table.of(["library", *numbers("tasks")], counts, title="Libraries of the stack")]


def as_json(found: Recommendation) -> dict[str, Any]:
    """Return the recommendation as a JSON object, with shares in 0..1 and null for unknown values."""
    return {
        "libraries": found.n_tasks_of,
        "libraries_without_tasks": list(found.libraries_without_tasks),
        "split": found.split,
        "n_tasks": found.n_tasks,
        "summary": found.sentence,
        "notes": list(found.notes),
        "models": plain(found.models),
        "weights_of_all_tasks": plain(found.weights),
    }
