"""The hierarchical logistic model's data, and its likelihood with the tasks' difficulties integrated out.

    logit P(model m passes task t) = sum over columns c of task t of effects[c, m] + difficulty of t

Column 0, the ability, is of every task; the others are libraries, whose effect on a model is the library's main effect
plus the model's deviation. Difficulties are normal around 0.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = NDArray[np.float64]

#: Points of the quadrature over a task's difficulty.
_N_POINTS = 11
#: Of Newton's method towards the middle of these points: steps, and logits that one is at most; a shorter one ends it.
_MOST_STEPS, _LONGEST_STEP, _SHORTEST_STEP = 30, 3.0, 0.01


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of models on tasks: shares of passing samples, a task counting once however many samples it has."""

    models: "Sequence[str]"
    task_ids: "Sequence[str]"
    shares: Array
    """(models, tasks), each in 0..1; NaN where the model was not judged on the task."""
    libraries: "Sequence[frozenset[str]]"
    """Libraries of each task."""

    @cached_property
    def n_tasks_of(self) -> dict[str, int]:
        """Number of tasks by library, in the order of names."""
        names = sorted({name for names in self.libraries for name in names})
        return {name: sum(name in names for names in self.libraries) for name in names}

    def kept(self, models: "Sequence[int]", tasks: "Sequence[int]") -> "Outcomes":
        """These models and tasks alone, by place."""
        return Outcomes(
            [self.models[place] for place in models],
            [self.task_ids[place] for place in tasks],
            self.shares[np.ix_(models, tasks)],
            [self.libraries[place] for place in tasks],
        )


class Design:
    """Which columns each task has, and the sums over tasks that curvature needs."""

    def __init__(self, outcomes: Outcomes, columns: "Sequence[str]") -> None:
        self.outcomes, self.columns = outcomes, tuple(columns)
        self.matrix = design_matrix(outcomes.libraries, columns)
        self.is_judged = np.isfinite(outcomes.shares)
        self.shares = np.where(self.is_judged, outcomes.shares, 0.0)
        self._pairs, self._first, self._second = _pairs_of_columns(self.matrix)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.outcomes.models)

    def curvature(self, by_task: Array) -> Array:
        """Sum over tasks of the Kronecker product of a task's columns' outer product with its (models, models) matrix.

        It has a row and a column an effect, in the order (columns, models).
        """
        n_columns, n_models = self.matrix.shape[1], self.n_models
        blocks = (self._pairs @ by_task.reshape(len(by_task), -1)).reshape(-1, n_models, n_models)
        found = np.zeros((n_columns, n_models, n_columns, n_models))
        found[self._first, :, self._second, :] = blocks
        found[self._second, :, self._first, :] = blocks
        return found.reshape(n_columns * n_models, -1)


def design_matrix(libraries: "Sequence[frozenset[str]]", columns: "Sequence[str]") -> Array:
    """A row a task: 1, and for each library of the columns whether the task uses it."""
    rows = [[1.0, *(float(name in names) for name in columns)] for names in libraries]
    return np.array(rows, dtype=np.float64).reshape(len(libraries), 1 + len(columns))


def _pairs_of_columns(matrix: Array) -> tuple[Any, NDArray[np.intp], NDArray[np.intp]]:
    """The pairs of columns that a task has in common: a sparse matrix (pairs, tasks), and both columns of each pair."""
    from scipy.sparse import csr_array

    first, second = np.triu_indices(matrix.shape[1])
    common = csr_array((matrix[:, first] * matrix[:, second]).T)
    occurs = np.diff(common.indptr) > 0
    return csr_array(common[occurs]), first[occurs], second[occurs]


@dataclass(frozen=True, eq=False, slots=True)
class Evaluated:
    """The marginal log-likelihood at one place, with its derivatives by the linear predictors."""

    value: float
    slope: Array
    """(models, tasks)."""
    curvature: Array
    """Of each task the negative second derivatives, (tasks, models, models)."""
    squared_difficulty: float
    """Sum over tasks of the posterior mean of the squared difficulty."""


def evaluate(design: Design, effects: Array, difficulty_deviation: float) -> Evaluated:
    """The log-likelihood with each task's difficulty integrated out.

    With r the outcome less the pass probability, and means over the task's posterior of the difficulty given the
    effects, the slope is mean r, and the negative curvature diag(mean p (1 - p)) - covariance of p between models:
    differentiation under the integral, as in Louis 1982, "Finding the Observed Information Matrix when Using the EM
    Algorithm". The integral is that of Bock and Aitkin 1981, "Marginal Maximum Likelihood Estimation of Item
    Parameters", by Gauss-Hermite points around each task's mode, as in Liu and Pierce 1994, "A Note on Gauss-Hermite
    Quadrature". Effects are (columns, models).
    """
    from scipy.special import log_expit, logsumexp

    predictors = design.matrix @ effects  # tasks, models
    points, log_weights = _quadrature(design, predictors, difficulty_deviation)
    shifted = predictors[:, None, :] + points[:, :, None]  # tasks, points, models
    log_passed = log_expit(shifted)
    passed = np.exp(log_passed) * design.is_judged.T[:, None, :]
    # log p + (share - 1) predictor is share log p + (1 - share) log (1 - p).
    fitting = np.where(design.is_judged.T[:, None, :], log_passed + (design.shares.T[:, None, :] - 1) * shifted, 0.0)
    by_point = fitting.sum(axis=2) + log_weights
    by_task = logsumexp(by_point, axis=1)
    posterior = np.exp(by_point - by_task[:, None])
    mean = (posterior[:, None, :] @ passed)[:, 0, :]
    weighted = posterior[:, :, None] * passed
    curvature = mean[:, :, None] * mean[:, None, :] - weighted.transpose(0, 2, 1) @ passed
    models = np.arange(design.n_models)
    curvature[:, models, models] += mean - (weighted * passed).sum(axis=1)
    return Evaluated(
        value=math.fsum(by_task),
        slope=np.where(design.is_judged, design.shares - mean.T, 0.0),
        curvature=curvature,
        squared_difficulty=float((posterior * points**2).sum()),
    )


def _quadrature(design: Design, predictors: Array, deviation: float) -> tuple[Array, Array]:
    """Difficulties to sum over, and logarithms of their weights, both (tasks, points).

    The weights are those of a mean over the normal distribution of the difficulties.
    """
    from scipy.special import expit

    middle = np.zeros(len(predictors))
    shares, judged = design.shares.T, design.is_judged.T
    for _ in range(_MOST_STEPS):
        passed = expit(predictors + middle[:, None]) * judged
        bend = (passed * (1 - passed)).sum(axis=1) + deviation**-2
        step = ((shares - passed).sum(axis=1) - middle / deviation**2) / bend
        middle += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if abs(step).max(initial=0.0) < _SHORTEST_STEP:
            break
    # A mode that the steps have not quite reached costs accuracy only.
    width = np.sqrt(2 / bend)[:, None]
    nodes, weights = np.polynomial.hermite.hermgauss(_N_POINTS)
    points = middle[:, None] + width * nodes
    density = -(points**2) / (2 * deviation**2) - math.log(deviation * math.sqrt(2 * math.pi))
    return points, density + np.log(weights * np.exp(nodes**2)) + np.log(width)


def normal_grid(deviation: float) -> tuple[Array, Array]:
    """Points and weights of a sum that stands for the mean over a normal distribution around 0."""
    standard = np.linspace(-6, 6, 121)
    weights = np.exp(-(standard**2) / 2)
    return deviation * standard, weights / weights.sum()
