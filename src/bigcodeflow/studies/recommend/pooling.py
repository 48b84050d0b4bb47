"""Pass rates of models on the tasks of some libraries, pooled with their rates on all tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Libraries with fewer tasks are not used to estimate how much libraries differ.
_FEWEST_TASKS = 10
#: Limits for the weight of all tasks together, in tasks, relative to a library's own tasks. The upper limit holds even
#: if the known libraries hardly differ, since another library may be different.
_LEAST_WEIGHT, _MOST_WEIGHT = 2.0, 50.0
#: Outcomes of two added tasks, passed and failed: a model that passes every task is not sure to pass the next.
_ADDED = (1.0, 0.0)


class Weights(NamedTuple):
    """Weights of all tasks together, in tasks, relative to a library's own tasks."""

    level: float
    """Weight for the mean of the models: large if libraries are equally hard."""
    difference: float
    """Weight for the models' differences from that mean: large if models differ alike on all libraries."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of models on tasks: shares of passing samples; a task counts once, however many samples it has."""

    models: Sequence[str]
    task_ids: Sequence[str]
    shares: Array
    """(models, tasks), each in 0..1; NaN where the model was not judged on the task."""
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

        The mean of a library varies for two reasons: its true mean has variance T around the mean of all tasks, and it
        is a mean of only n tasks. With S the variance of single tasks, T corresponds to a prior weight of S / T - 1
        tasks.
        """
        mean = np.nanmean(self.shares, axis=0)
        common = [name for name, n_tasks in self.n_tasks_of.items() if n_tasks >= _FEWEST_TASKS]
        uses = np.array([[name in names for names in self.libraries] for name in common], dtype=bool)
        masks = uses.reshape(-1, len(self.task_ids))
        return Weights(_learnt_weight(mean[None], masks), _learnt_weight(self.shares - mean, masks))

    def kept(self, models: Sequence[int], tasks: Sequence[int]) -> "Outcomes":
        """Return the outcomes of these models and tasks only, given by place."""
        return Outcomes(
            [self.models[place] for place in models],
            [self.task_ids[place] for place in tasks],
            self.shares[np.ix_(models, tasks)],
            [self.libraries[place] for place in tasks],
        )


def _learnt_weight(values: Array, masks: NDArray[np.bool_]) -> float:
    """Return the weight for rows of values by task, and masks (libraries, tasks) of the tasks that use a library."""
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    single = float(np.nanmean(np.nanvar(values, axis=1)))
    true = [np.nanmean(centred[:, mask], axis=1) ** 2 - np.nanvar(centred[:, mask], axis=1, ddof=1) / mask.sum()
            for mask in masks]  # fmt: skip
    between = float(np.mean(true)) if true else 0.0
    if between <= 0:
        return _MOST_WEIGHT
    return float(np.clip(single / between - 1, _LEAST_WEIGHT, _MOST_WEIGHT))


def drawn_rates(outcomes: Outcomes, places: Sequence[int], *, n_draws: int, seed: int) -> Array:
    """Draw the models' pass rates on a population of tasks like those at the places: (draws, models), each in 0..1.

    The population is unknown: it is drawn from a Dirichlet process around all tasks, given the tasks at the places.
    Random weights of the recorded tasks do that. All models get the same weights, so that the difficulty of tasks
    cancels out in differences. The models' mean and their differences from it are drawn separately, as libraries
    differ more in their difficulty than in the ranking of models. Sources: Ferguson 1973, "A Bayesian Analysis of Some
    Nonparametric Problems"; Rubin 1981, "The Bayesian Bootstrap".
    """
    generator = np.random.default_rng(seed)
    mean = np.append(np.nanmean(outcomes.shares, axis=0), _ADDED)
    added = np.zeros((len(outcomes.models), len(_ADDED)))
    differences = np.hstack([outcomes.shares, added + _ADDED]) - mean
    level = _weighted(mean[None], places, outcomes.weights.level, n_draws, generator)
    return np.clip(level + _weighted(differences, places, outcomes.weights.difference, n_draws, generator), 0.0, 1.0)


def _weighted(
    values: Array, places: Sequence[int], weight: float, n_draws: int, generator: np.random.Generator
) -> Array:
    """Draw weights of the tasks, and return the weighted means of rows of values by task: (draws, rows)."""
    shapes = np.full(values.shape[1], weight / values.shape[1])
    shapes[list(places)] += 1.0
    drawn = generator.standard_gamma(shapes, size=(n_draws, len(shapes)))
    known = np.isfinite(values)
    # No matrix products: their threads wait for each other longer than these sums take.
    total = np.einsum("dt,rt->dr", drawn, np.where(known, values, 0.0))
    found: Array = total / np.einsum("dt,rt->dr", drawn, known.astype(np.float64))
    return found
