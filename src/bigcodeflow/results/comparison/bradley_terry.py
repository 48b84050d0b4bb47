"""Bradley-Terry ratings: a number per model; the difference of two ratings gives the odds of a win."""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bigcodeflow.results.comparison.paired_tests import bootstrap_sums
from bigcodeflow.results.statistics import Interval

Array = NDArray[np.float64]

#: "half": a tie is half a win for each model; "excluded": ties do not count, as in the benchmark's paper.
Ties = Literal["half", "excluded"]

#: Points of a rating per unit of natural log-odds: 400 points mean odds of 10 to 1, as in Elo's scale.
POINTS = 400 / math.log(10)
#: Mean rating of the compared models.
ANCHOR = 1000.0
BOOTSTRAP_ROUNDS = 500

_CLOSE_ENOUGH = 1e-11
_MOST_STEPS = 500
_SAME_STRENGTH = 1e-7
_NOTHING = 1e-9  # far below one sample of one task


class Rating(NamedTuple):
    """A model's rating with its 95 % interval, and its rank (1 is the best) with the ends of its 95 % interval."""

    rating: float
    interval: Interval
    rank: int
    rank_best: int
    rank_worst: int


class Ratings(NamedTuple):
    """Ratings of all models, in the order of the rows of ``scores`` in `matches_of`."""

    rows: list[Rating]
    regularised: bool
    """True if a tie was added to each pair of models, because the likelihood has no finite maximum otherwise."""
    regularised_rounds: bool
    """True if a tie was added to each pair in all rounds, because some rounds have no finite maximum otherwise."""
    rounds: int


class Matches(NamedTuple):
    """Outcomes of all pairs of models; in each array, row 0 is for the original tasks, row r for bootstrap round r."""

    n_tasks: int
    passed: Array
    """Sums over tasks of the share p of samples that pass, of shape (1 + rounds, models)."""
    both: Array
    """Sums over tasks of the product of both models' p for each pair, of shape (1 + rounds, models, models)."""


def matches_of(scores: ArrayLike, *, rounds: int = BOOTSTRAP_ROUNDS, seed: int = 0) -> Matches:
    """Count each task as a match of each pair of models; count again for each bootstrap round (tasks drawn anew).

    With several samples, a match is divided. Against a model with pass share q, a model with pass share p gets
    p (1 - q) of a win, q (1 - p) of a loss, and the rest as a tie: the means over all pairs of samples. ``scores``
    has one row per model and one column per task: the share of samples that pass, in 0..1.
    """
    shares = np.asarray(scores, dtype=np.float64)
    n_models, n_tasks = shares.shape
    first, second = np.tril_indices(n_models, -1)
    columns = np.concatenate([shares, shares[first] * shares[second]])
    sums = np.column_stack([columns.sum(axis=1), bootstrap_sums(columns, rounds=rounds, seed=seed)]).T
    both = np.zeros((1 + rounds, n_models, n_models))
    both[:, first, second] = both[:, second, first] = sums[:, n_models:]
    return Matches(n_tasks, sums[:, :n_models], both)


def win_matrices(matches: Matches, ties: Ties) -> Array:
    """Return the number of wins of each row's model over each column's model, of shape (1 + rounds, models, models)."""
    # Remove rounding errors of 0 wins: 1e-16 wins would give a finite but absurd rating.
    won = _cleared(matches.passed[:, :, np.newaxis] - matches.both)
    if ties == "half":
        won = _cleared(won + (matches.n_tasks - won - won.swapaxes(1, 2)) / 2)
    return won * ~np.eye(won.shape[1], dtype=bool)


def ratings(matches: Matches, *, ties: Ties = "half") -> Ratings:
    """Compute ratings with mean 1000 on Elo's scale, with intervals from the bootstrap over tasks.

    A finite maximum of the likelihood exists only if every group of models lost to some model outside the group (Ford
    1957); otherwise a tie is added to each pair. If ``ties`` is "half", a tie is half a win for each model, as in Elo's
    scheme. Source: Bradley and Terry 1952.
    """
    wins = win_matrices(matches, ties)
    finite = have_maximum(wins)
    # The same rule for all rounds: with ties only in the rounds that need them, the ratings of these rounds would be
    # closer to the mean than the others, and an interval would mix two estimators.
    regularised, regularised_rounds = not finite[0], not finite.all()
    best = strengths_of(wins[:1] + 0.5 * regularised)
    strengths = strengths_of(wins[1:] + 0.5 * regularised_rounds)
    low, high = np.quantile(ANCHOR + POINTS * strengths, (0.025, 0.975), axis=0)
    rank_best, rank_worst = np.quantile(_ranks(strengths), (0.025, 0.975), axis=0)
    ranks = _ranks(best)[0]
    rows = [
        Rating(
            float(ANCHOR + POINTS * strength),
            Interval(float(low[place]), float(high[place])),
            int(ranks[place]),
            math.floor(rank_best[place]),
            math.ceil(rank_worst[place]),
        )
        for place, strength in enumerate(best[0])
    ]
    return Ratings(rows, regularised, regularised_rounds, len(strengths))


def have_maximum(wins: Array) -> NDArray[np.bool_]:
    """Tell for each matrix of wins if its likelihood has a finite maximum.

    A finite maximum exists if chains of wins connect each model to every other model. ``wins`` has the shape (matrices,
    models, models).
    """
    size = wins.shape[-1]
    reached = (wins > 0) | np.eye(size, dtype=bool)
    for _ in range(size.bit_length()):  # each step doubles the length of the chains
        reached = np.matmul(reached, reached)
    return np.asarray(reached.all(axis=(-2, -1)))


def strengths_of(wins: Array) -> Array:
    """Return the maximum-likelihood strengths s of each matrix, with mean 0: P(i beats j) = 1 / (1 + exp(s_j - s_i)).

    Newton's method on the concave log-likelihood, the sum over i, j of wins[i][j] log P(i beats j), for all matrices at
    once. Each matrix must have a finite maximum. ``wins`` has the shape (matrices, models, models); diagonals are
    ignored.
    """
    from scipy.special import expit

    played = wins + wins.swapaxes(1, 2)
    strengths = np.zeros(wins.shape[:2])
    for _ in range(_MOST_STEPS):
        apart = strengths[:, :, np.newaxis] - strengths[:, np.newaxis, :]
        chance = expit(apart)
        gradient = (wins - played * chance).sum(axis=2)
        weight = played * chance * expit(-apart)
        # The added ones fix the mean, which the matches do not determine.
        information = 1 - weight + np.eye(wins.shape[1]) * weight.sum(axis=2)[:, :, np.newaxis]
        step = np.linalg.solve(information, gradient[:, :, np.newaxis])[:, :, 0]
        spread = np.ptp(step, axis=1)
        # In a step of spread up to 1 the curvature changes so little that the likelihood cannot decrease.
        strengths += step * np.minimum(1.0, 1.0 / np.maximum(spread, _CLOSE_ENOUGH))[:, np.newaxis]
        if (spread < _CLOSE_ENOUGH).all():
            break
    return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))


def _ranks(strengths: Array) -> NDArray[np.intp]:
    """Return ranks: 1 plus the number of stronger models, of shape (matrices, models)."""
    stronger = strengths[:, np.newaxis, :] > strengths[:, :, np.newaxis] + _SAME_STRENGTH
    return np.asarray(1 + stronger.sum(axis=2))


def _cleared(counts: Array) -> Array:
    return counts * (counts > _NOTHING)
