"""Bradley-Terry ratings: one number a model, such that differences say how often one beats the other."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from bigcodeflow.results.comparison.resampling import Range, bootstrap_sums, percentile_range, series_of
from bigcodeflow.results.comparison.round_fits import Strengths, comparable, round_strengths

if TYPE_CHECKING:
    import polars as pl

#: Half of a tie goes to each model, or ties do not count, as in the paper of the benchmark.
Ties = Literal["half", "excluded"]

#: Points of a rating for each natural logarithm of odds: 400 points are odds of 10 to 1, as in Elo's scale.
POINTS = 400 / math.log(10)
#: Where the mean of the compared models lies.
ANCHOR = 1000.0
BOOTSTRAP_ROUNDS = 500

_LONGEST_STEP = 1.0
_CLOSE_ENOUGH = 1e-11
_MOST_STEPS = 500
_SAME_STRENGTH = 1e-7
_NOTHING = 1e-9  # far below one sample of one task

Matrix = Sequence[Sequence[float]]


class Fit(NamedTuple):
    """Strengths of the maximum likelihood."""

    strengths: list[float]
    """Natural logarithms of odds, of mean 0."""
    regularised: bool
    """The likelihood has no finite maximum, so one tie was added to each pair of models."""


class Rating(NamedTuple):
    """One model's rating with its 95 % interval, and its rank, 1 being the best."""

    rating: float
    interval: Range
    rank: int
    rank_best: int
    rank_worst: int


class Ratings(NamedTuple):
    """Ratings of all models, in the given order."""

    rows: list[Rating]
    regularised: bool
    """As in :class:`Fit`, for the ratings themselves."""
    regularised_rounds: bool
    """One tie was added to each pair in every bootstrap round, since some round has no finite maximum without."""
    rounds: int


class Matches(NamedTuple):
    """Outcomes of all pairs: on the tasks as they are, and on the tasks of each bootstrap round.

    Sums over tasks of the share p that each model passes, then of p q for each pair of models.
    """

    n_models: int
    n_tasks: int
    sums: list[float]
    drawn: list[list[float]]
    """The same sums, a list of rounds each."""


def matches_of(scores: Matrix, *, rounds: int = BOOTSTRAP_ROUNDS, seed: int = 0) -> Matches:
    """Each task as a match of every pair of models, and the same for tasks drawn with replacement.

    With several samples a task counts by shares: a model that passes in share p wins against one of share q by
    p (1 - q), loses by q (1 - p) and ties else, which is the mean over all pairs of samples.

    Args:
        scores: one row a model, one column a task: the share of samples that pass, in 0..1.
        rounds: of the bootstrap.
        seed: of the bootstrap.
    """
    pairs = [(first, second) for first in range(len(scores)) for second in range(first)]
    both = [[a * b for a, b in zip(scores[first], scores[second], strict=True)] for first, second in pairs]
    columns = [*scores, *both]
    drawn = bootstrap_sums(columns, rounds=rounds, seed=seed)
    sums = [math.fsum(column) for column in columns]
    return Matches(len(scores), len(scores[0]), sums, drawn)


def ratings(matches: Matches, *, ties: Ties = "half") -> Ratings:
    """Ratings of mean 1000 on Elo's scale, with intervals from the bootstrap over tasks.

    Source: Bradley and Terry 1952; ties as half a win as in Elo's scheme.

    Args:
        matches: as :func:`matches_of` gives them.
        ties: whether a tie is half a win or no match.
    """
    n_models, n_tasks = matches.n_models, matches.n_tasks
    wins = _wins(matches.sums, n_models, n_tasks, ties)
    best = fit(wins)
    rounds, added = _round_strengths(matches, ties, wins)
    ranks = [_ranks(strengths) for strengths in rounds]
    rows = [_rating(place, best, rounds, ranks) for place in range(n_models)]
    return Ratings(rows, best.regularised, added, len(rounds))


def fit(wins: Matrix, start: Sequence[float] | None = None) -> Fit:
    """Strengths that make the wins most likely: P(i beats j) = 1 / (1 + exp(s_j - s_i)).

    Newton's method on the concave log-likelihood, the sum over i, j of wins[i][j] log P(i beats j). A finite maximum
    exists only if no group of models never lost to the others (Ford 1957); where one did, a tie is added to each pair.

    Args:
        wins: how often the model of the row beat that of the column, half wins included; the diagonal is not read.
        start: where to begin; the result does not depend on it.
    """
    regularised = not comparable(wins)
    if regularised:
        wins = _tied_once_more(wins)
    strengths = list(start or [0.0] * len(wins))
    for _ in range(_MOST_STEPS):
        step = _solve(*_slope(wins, strengths))
        spread = max(step) - min(step)
        # Within a step of spread 1 the curvature changes so little that the likelihood cannot fall, whatever the start.
        shorter = min(1.0, _LONGEST_STEP / spread) if spread else 1.0
        strengths = [old + shorter * change for old, change in zip(strengths, step, strict=True)]
        if spread < _CLOSE_ENOUGH:
            break
    mean = math.fsum(strengths) / len(strengths)
    return Fit([strength - mean for strength in strengths], regularised)


def _round_strengths(matches: Matches, ties: Ties, wins: Matrix) -> tuple[list[list[float]], bool]:
    """Strengths of each bootstrap round, and whether a tie was added to each pair.

    One rule holds for all rounds: were the tie added only to those that need it, these would lie nearer to the mean
    than the others, and an interval would mix two estimators.
    """
    drawn = _wins_by_round(matches, ties)
    found = _fit_rounds(drawn, wins) if comparable(wins) else None
    if found:
        return found, False
    tied = [[column + 0.5 for column in row] for row in drawn]
    return _fit_rounds(tied, _tied_once_more(wins)) or [], True


def _fit_rounds(drawn: Sequence[Sequence["pl.Series"]], wins: Matrix) -> list[list[float]] | None:
    """All at once, then one by one those that lie far from the fit of all tasks; None if one has no finite maximum."""
    best = fit(wins).strengths
    information, _ = _slope(wins, best)
    found: list[Strengths] = round_strengths(drawn, best, _inverse(information))
    for number, strengths in enumerate(found):
        if strengths is None:
            one = fit([[column[number] for column in row] for row in drawn], best)
            if one.regularised:
                return None
            found[number] = one.strengths
    return [strengths for strengths in found if strengths is not None]


def _tied_once_more(wins: Matrix) -> list[list[float]]:
    return [[won + 0.5 for won in row] for row in wins]


def _wins_by_round(matches: Matches, ties: Ties) -> list[list["pl.Series"]]:
    """As :func:`_wins`, with a value a round in each cell."""
    n_models, n_tasks, _, drawn = matches
    passed = [series_of(column) for column in drawn[:n_models]]
    wins = [list(passed) for _ in range(n_models)]
    both = iter(drawn[n_models:])
    for first in range(n_models):
        for second in range(first):
            together = series_of(next(both))
            won, lost = _cleared_all(passed[first] - together), _cleared_all(passed[second] - together)
            half = (n_tasks - won - lost) / 2 if ties == "half" else 0.0
            wins[first][second], wins[second][first] = _cleared_all(won + half), _cleared_all(lost + half)
    return wins


def _cleared_all(counts: "pl.Series") -> "pl.Series":
    return counts * (counts > _NOTHING).cast(counts.dtype)


def _wins(sums: Sequence[float], n_models: int, n_tasks: int, ties: Ties) -> list[list[float]]:
    """Win matrix from the sums of p of each model and of p q of each pair, in the order of :class:`Matches`."""
    wins = [[0.0] * n_models for _ in range(n_models)]
    place = n_models
    for first in range(n_models):
        for second in range(first):
            # What rounding leaves of 0 wins must be 0: a win of 1e-16 would be a finite but absurd rating.
            won = _cleared(sums[first] - sums[place])
            lost = _cleared(sums[second] - sums[place])
            half = (n_tasks - won - lost) / 2 if ties == "half" else 0.0
            wins[first][second], wins[second][first] = _cleared(won + half), _cleared(lost + half)
            place += 1
    return wins


def _cleared(count: float) -> float:
    return count if count > _NOTHING else 0.0


def _slope(wins: Matrix, strengths: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    """Information matrix and gradient of the log-likelihood; the matrix fixes the mean, which no match tells."""
    size = len(wins)
    matrix = [[1.0] * size for _ in range(size)]
    gradient = [0.0] * size
    for first in range(size):
        for second in range(first):
            played = wins[first][second] + wins[second][first]
            odds = math.exp(-abs(strengths[first] - strengths[second]))
            chance = 1 / (1 + odds) if strengths[first] >= strengths[second] else odds / (1 + odds)
            excess = wins[first][second] - played * chance
            gradient[first] += excess
            gradient[second] -= excess
            weight = played * odds / (1 + odds) ** 2
            matrix[first][first] += weight
            matrix[second][second] += weight
            matrix[first][second] -= weight
            matrix[second][first] -= weight
    return matrix, gradient


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solution of a symmetric positive definite system, by elimination; both arguments are used up."""
    size = len(right)
    for pivot in range(size):
        row, inverse = matrix[pivot], 1 / matrix[pivot][pivot]
        for below in range(pivot + 1, size):
            factor = matrix[below][pivot] * inverse
            if factor:
                other = matrix[below]
                for column in range(pivot, size):
                    other[column] -= factor * row[column]
                right[below] -= factor * right[pivot]
    for pivot in reversed(range(size)):
        row = matrix[pivot]
        known = sum(row[column] * right[column] for column in range(pivot + 1, size))
        right[pivot] = (right[pivot] - known) / row[pivot]
    return right


def _inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Of a symmetric positive definite matrix."""
    size = len(matrix)
    units = [[float(row == column) for row in range(size)] for column in range(size)]
    return [_solve([list(row) for row in matrix], unit) for unit in units]


def _rating(place: int, best: Fit, rounds: Matrix, ranks: Sequence[Sequence[int]]) -> Rating:
    ends = percentile_range([ANCHOR + POINTS * strengths[place] for strengths in rounds])
    reached = percentile_range([one[place] for one in ranks])
    rating, rank = ANCHOR + POINTS * best.strengths[place], _ranks(best.strengths)[place]
    return Rating(rating, ends, rank, math.floor(reached.low), math.ceil(reached.high))


def _ranks(strengths: Sequence[float]) -> list[int]:
    """One more than there are stronger models."""
    ordered = sorted(strengths)
    return [1 + len(ordered) - bisect_right(ordered, strength + _SAME_STRENGTH) for strength in strengths]
