"""Fitting the hierarchical logistic model: effects by Laplace's approximation, variances by marginal likelihood."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.studies.recommend.factorizing import lower_factor
from bigcodeflow.studies.recommend.likelihood import Array, Design, Evaluated, Outcomes, evaluate

#: A library of fewer tasks has effects of its own only where it is asked for.
FEWEST_TASKS = 10
#: Effects that the variances are learnt from, about: those of the libraries with most tasks. Time grows with the cube.
_EFFECTS_TO_LEARN_FROM = 320
_FEWEST_LIBRARIES = 8
#: Logits; what the models' mean ability may be is left open.
_MEAN_ABILITY = 5.0
#: Of the log density: a step that gains less ends Newton's method; and while variances are still searched for.
_TOLERANCE, _ROUGHLY = 1e-6, 1e-3
_MOST_STEPS = 60
_SHORTEST = 1e-6
#: Of the search for variances: the change of a standard deviation's logarithm that ends it, and how long it may take.
_SETTLED = 0.01
_MOST_ROUNDS = 100
_LONGEST_JUMP = 6.0


class Deviations(NamedTuple):
    """Standard deviations of the model's normal priors, logits."""

    difficulty: float
    """Of tasks, those of one set of libraries."""
    ability: float
    """Of models around their mean."""
    library: float
    """Of libraries' main effects, which are the same for all models."""
    interaction: float
    """Of a model's deviation on a library."""

    @classmethod
    def of(cls, logarithms: Array) -> Self:
        """From their logarithms, kept where numbers stay sound."""
        return cls(*map(float, np.exp(np.clip(logarithms, math.log(0.02), math.log(20.0)))))

    @property
    def logarithms(self) -> Array:
        """Their natural logarithms."""
        found: Array = np.log(np.array(self))
        return found


#: What is expected before any outcome is seen; it counts as one observation of each.
_EXPECTED = Deviations(difficulty=2.0, ability=1.0, library=0.5, interaction=0.3)
#: Where the searches start: at the expected values, below and above.
_STARTS = (_EXPECTED, Deviations(1.2, 0.6, 0.25, 0.2), Deviations(3.5, 1.5, 0.8, 0.5))


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """The posterior of the effects given the deviations: normal around its mode."""

    design: Design
    deviations: Deviations
    effects: Array
    """The mode, (1 + libraries, models)."""
    factor: Array
    """Lower Cholesky factor of the posterior's precision, effects in the order (columns, models)."""
    log_evidence: float
    """Laplace's approximation of the log marginal likelihood of the deviations."""
    squared_difficulty: float

    def draws(self, n_draws: int, seed: int) -> Array:
        """Effects drawn from the posterior, (draws, columns, models); the same for one seed."""
        from scipy.linalg import solve_triangular

        noise = np.random.default_rng(seed).standard_normal((self.effects.size, n_draws))
        spread = solve_triangular(self.factor, noise, lower=True, trans="T", check_finite=False, overwrite_b=True)
        found: Array = self.effects + spread.T.reshape(n_draws, *self.effects.shape)
        return found


def fit_effects(
    design: Design, deviations: Deviations, start: Array | None = None, *, tolerance: float = _TOLERANCE
) -> Fit:
    """The posterior's mode by Newton's method, and the curvature there.

    Likelihood and priors are log-concave, so that there is one mode. Source: Tierney and Kadane 1986, "Accurate
    Approximations for Posterior Moments and Marginal Densities", for Laplace's approximation.

    Raises:
        ArtifactError: the steps do not end.
    """
    from scipy.linalg import cho_solve

    precision = _prior_precision(design, deviations)
    effects = np.zeros((design.matrix.shape[1], design.n_models)) if start is None else start
    found, height = _height(design, deviations, precision, effects)
    for _ in range(_MOST_STEPS):
        slope = design.matrix.T @ found.slope.T - _times(precision, effects)
        factor = _factor(design, found, precision)
        step = cho_solve((factor, True), slope.ravel(), check_finite=False).reshape(effects.shape)
        gain = float((step * slope).sum())
        if gain < tolerance:
            break
        scale, reached = 1.0, height
        while scale > _SHORTEST:
            tried, reached = _height(design, deviations, precision, effects + scale * step)
            if reached > height:
                break
            scale /= 2
        if reached <= height:  # rounding hides what is left to gain
            break
        effects, found, height = effects + scale * step, tried, reached
    else:
        raise ArtifactError("recommend: the fit of the recorded outcomes does not converge: report this store")
    # The constant of the normal density cancels between prior and posterior.
    evidence = height + _half_log_determinant(design, deviations) - float(np.log(np.diag(factor)).sum())
    return Fit(design, deviations, effects, factor, evidence, found.squared_difficulty)


def _height(design: Design, deviations: Deviations, precision: Array, effects: Array) -> tuple[Evaluated, float]:
    """The likelihood, and the log posterior density up to a constant."""
    found = evaluate(design, effects, deviations.difficulty)
    return found, found.value - float((effects * _times(precision, effects)).sum()) / 2


def _prior_precision(design: Design, deviations: Deviations) -> Array:
    """Of each column's effects, (columns, models, models): the inverse of own² I + shared² J, with J of ones."""
    n_models = design.n_models
    blocks = []
    for own, shared in _scales(design, deviations):
        common = shared**2 / (own**2 * (own**2 + n_models * shared**2))
        blocks.append(np.eye(n_models) / own**2 - common)
    return np.array(blocks)


def _half_log_determinant(design: Design, deviations: Deviations) -> float:
    """Half the log determinant of the prior's precision."""
    n_models = design.n_models
    return -sum(
        (n_models - 1) * math.log(own) + math.log(own**2 + n_models * shared**2) / 2
        for own, shared in _scales(design, deviations)
    )


def _scales(design: Design, deviations: Deviations) -> list[tuple[float, float]]:
    """Of each column the deviation of one model's effect, and the one of what all models share."""
    libraries = (deviations.interaction, deviations.library)
    return [(deviations.ability, _MEAN_ABILITY), *([libraries] * len(design.columns))]


def _times(precision: Array, effects: Array) -> Array:
    found: Array = np.einsum("cmn,cn->cm", precision, effects)
    return found


def _factor(design: Design, found: Evaluated, precision: Array) -> Array:
    whole = design.curvature(found.curvature)
    n_models = design.n_models
    for column, block in enumerate(precision):
        place = slice(column * n_models, (column + 1) * n_models)
        whole[place, place] += block
    return lower_factor(whole)


def learn(outcomes: Outcomes) -> Fit:
    """The fit with the deviations under which the outcomes are likeliest, of several searches the best.

    It has effects of the libraries with most tasks alone.

    Each search repeats the EM step for variances, the squares' posterior means (Dempster, Laird and Rubin 1977), with
    the normal posterior of the effects, and jumps ahead by extrapolation (SQUAREM's third scheme; Varadhan and Roland
    2008, "Simple and Globally Convergent Methods for Accelerating the Convergence of Any EM Algorithm"). A prior guess
    counts as one observation of each variance, so that none becomes 0, which a few libraries cannot show (Chung et al.
    2013, "A Nondegenerate Penalized Likelihood Estimator for Variance Parameters in Multilevel Models").

    Raises:
        ArtifactError: no search settles.
    """
    counts = {name: n_tasks for name, n_tasks in outcomes.n_tasks_of.items() if n_tasks >= FEWEST_TASKS}
    most = max(_FEWEST_LIBRARIES, _EFFECTS_TO_LEARN_FROM // len(outcomes.models))
    columns = sorted(counts, key=lambda name: -counts[name])[:most]
    design = Design(outcomes, sorted(columns))
    found = [fit for start in _STARTS if (fit := _searched(design, start)) is not None]
    if not found:
        raise ArtifactError("recommend: the variances of the recorded outcomes cannot be settled: report this store")
    return max(found, key=lambda fit: fit.log_evidence)


def _searched(design: Design, start: Deviations) -> Fit | None:
    """The fit where the search settles; None where it does not within the rounds."""
    place, fit = start.logarithms, None
    for _ in range(_MOST_ROUNDS):
        fit = fit_effects(design, Deviations.of(place), fit.effects if fit else None, tolerance=_ROUGHLY)
        first = _next_deviations(fit)
        change = first - place
        if abs(change).max() < _SETTLED:
            return fit
        fit = fit_effects(design, Deviations.of(first), fit.effects, tolerance=_ROUGHLY)
        bend = _next_deviations(fit) - first - change
        length = -math.sqrt((change**2).sum() / max(float((bend**2).sum()), 1e-12))
        length = min(-1.0, max(-_LONGEST_JUMP, length))
        place = Deviations.of(place - 2 * length * change + length**2 * bend).logarithms
    return None


def _next_deviations(fit: Fit) -> Array:
    """Logarithms of the deviations after one step of EM."""
    design, n_models = fit.design, fit.design.n_models
    # Of the effects of each column, posterior means of squares: along the mean over models, and across it.
    squares = _squares(fit)
    along = squares.sum(axis=(1, 2)) / n_models
    across = squares.trace(axis1=1, axis2=2) - along
    n_libraries, expected = len(design.columns), _EXPECTED

    def pooled(total: float, count: int, guess: float) -> float:
        return (total + guess**2) / (count + 1)

    interaction = pooled(across[1:].sum(), n_libraries * (n_models - 1), expected.interaction)
    # The mean over models varies by library² + interaction² / models.
    mean_square = pooled(along[1:].sum() / n_models, n_libraries, expected.library)
    variances = (
        pooled(fit.squared_difficulty, len(design.matrix), expected.difficulty),
        pooled(across[0], n_models - 1, expected.ability),
        max(mean_square - interaction / n_models, 1e-4),
        interaction,
    )
    return Deviations.of(np.log(np.array(variances)) / 2).logarithms


def _squares(fit: Fit) -> Array:
    """Posterior means of the products of a column's effects, (columns, models, models)."""
    from scipy.linalg import solve_triangular

    n_columns, n_models = fit.effects.shape
    # The covariance is the inverse factor's transpose times itself. LAPACK's dpotri would give all of it, and takes ten
    # times as long where its threads have to wait for a core.
    inverse = solve_triangular(fit.factor, np.eye(len(fit.factor)), lower=True, check_finite=False, overwrite_b=True)
    blocks = inverse.reshape(-1, n_columns, n_models).transpose(1, 2, 0)
    found: Array = blocks @ blocks.transpose(0, 2, 1) + fit.effects[:, :, None] * fit.effects[:, None, :]
    return found


def fit_outcomes(outcomes: Outcomes, known: Fit, asked: Sequence[str] = ()) -> Fit:
    """The fit with effects of every library of several tasks, and of those that are asked for.

    The deviations are those of a known fit to these outcomes, from whose effects Newton's method starts.
    """
    columns = [
        name for name, n_tasks in outcomes.n_tasks_of.items() if n_tasks >= FEWEST_TASKS or name in frozenset(asked)
    ]
    design = Design(outcomes, columns)
    places = {name: place for place, name in enumerate(known.design.columns, start=1)}
    start = np.zeros((1 + len(columns), design.n_models))
    start[0] = known.effects[0]
    for row, name in enumerate(columns, start=1):
        if name in places:
            start[row] = known.effects[places[name]]
    return fit_effects(design, known.deviations, start)
