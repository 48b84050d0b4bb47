"""Paired tests and intervals of differences: McNemar and Tango for one sample per task, else resampling; Holm.

Random numbers come from Python's Mersenne Twister: a seed gives the same numbers on every machine.
"""

import math
import random
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bigcodeflow.results.statistics import Z_95, Interval, student_quantile

Array = NDArray[np.float64]

#: A result is significant if its p-value is below this level.
SIGNIFICANCE_LEVEL = 0.05
#: Rounds of the bootstrap and of the sign-flip test; with so many, seeds change the ends of intervals by about 1 %.
ROUNDS = 10_000

_HALVINGS = 60  # bisection of a width of at most 2 to the last digit
_DRAWS_AT_ONCE = 2_000_000  # 50 MB of memory
_ROUNDING = 1e-9  # sums of the same numbers in another order count as equal


def mcnemar(only_first: int, only_second: int, *, mid_p: bool = False) -> float:
    """Return the two-sided exact p of McNemar's test for one sample per task.

    ``only_first`` and ``only_second`` count tasks that exactly one of the two models solves. Only these n tasks show
    which model is better. Under the null hypothesis, either model solves such a task with probability 1/2:
    p = 2 P(X <= min) with X binomial(n, 1/2), at most 1. The mid-p variant counts the probability of the observed
    numbers half: it is less conservative, and not exact.
    Source: McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013, "The McNemar test for binary matched-pairs
    data".
    """
    if min(only_first, only_second) < 0:
        raise ValueError(
            f"McNemar's test: only_first = {only_first}, only_second = {only_second}: both counts must be at least 0"
        )
    n_tasks, fewer = only_first + only_second, min(only_first, only_second)
    # Integer arithmetic until the division: floating point would round the tail of 1,140 tasks.
    ways = 2 * sum(math.comb(n_tasks, count) for count in range(fewer + 1))
    if mid_p:
        ways -= math.comb(n_tasks, fewer)
    return min(1.0, ways / (1 << n_tasks))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several tests: the chance of any false positive is then at most that of a single test.

    The smallest p is multiplied by m (the number of p-values), the next by m - 1, and so on. A result is never below
    the result of a smaller p, and never above 1. The order of ``p_values`` is kept.
    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = floor
    return adjusted


def score_interval(only_first: int, only_second: int, n_tasks: int) -> Interval:
    """Return the 95 % score interval of the difference of two models' shares of solved tasks, first minus second.

    The interval contains each D for which McNemar's test, without correction, does not reject "the difference is D":
    (b - c - n D)^2 <= z^2 n (2 q + D (1 - D)), where b and c count the tasks that only the first or only the second
    model solves. If D is true, q is the maximum-likelihood share of the tasks that only the second model solves: the
    larger root of 2 n q^2 + ((2 n - b + c) D - b - c) q - c D (1 - D) = 0.
    The interval excludes 0 if (b - c)^2 > z^2 (b + c). The exact test is more conservative, so it may still have a p
    above 0.05.
    Source: Tango 1998, "Equivalence Test and Confidence Interval for the Difference in Proportions for the
    Paired-Sample Design". benchmarks/comparison.py measures the coverage of the interval.
    """
    if min(only_first, only_second) < 0 or only_first + only_second > n_tasks or n_tasks < 1:
        raise ValueError(
            f"score interval: only_first = {only_first}, only_second = {only_second}, n_tasks = {n_tasks}: the first "
            "two must be at least 0, and n_tasks at least their sum and at least 1"
        )
    # Exchanging the models mirrors the interval, so the same function computes both ends.
    return Interval(-_upper(only_second, only_first, n_tasks), _upper(only_first, only_second, n_tasks))


def _upper(only_first: int, only_second: int, n_tasks: int) -> float:
    """Return the upper end of `score_interval`: the largest difference that is not rejected, by bisection."""
    low, high = (only_first - only_second) / n_tasks, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        linear = (2 * n_tasks - only_first + only_second) * middle - only_first - only_second
        constant = -only_second * middle * (1 - middle)
        share = (math.sqrt(max(0.0, linear * linear - 8 * n_tasks * constant)) - linear) / (4 * n_tasks)
        variance = n_tasks * (2 * share + middle * (1 - middle))
        if (only_first - only_second - n_tasks * middle) ** 2 <= Z_95 * Z_95 * variance:
            low = middle
        else:
            high = middle
    return high


def bootstrap_sums(columns: ArrayLike, *, rounds: int, seed: int) -> Array:
    """Return the sum of each column in each bootstrap round, as an array of shape (columns, rounds).

    A row of ``columns``, of shape (columns, rows), is a task. A round draws n of n rows with replacement, the same rows
    in every column, so that sums of the same round can be compared.
    A 32-bit word w draws row floor(w n / 2^32), so the relative bias of a row is at most n / 2^32.
    """
    values = np.asarray(columns, dtype=np.float64)
    n_rows = values.shape[1]
    generator = random.Random(seed)  # noqa: S311 - statistics, no secrets
    portions = []
    for n_rounds in _portions(rounds, n_rows):
        words = np.frombuffer(generator.randbytes(4 * n_rounds * n_rows), "<u4").astype(np.uint64)
        rows = (words * n_rows >> 32).astype(np.intp).reshape(n_rounds, n_rows)
        portions.append(np.stack([column[rows].sum(axis=1) for column in values]))
    return np.concatenate(portions, axis=1)


def difference_intervals(
    scores: ArrayLike, pairs: Sequence[tuple[int, int]], *, rounds: int = ROUNDS, seed: int = 0
) -> list[Interval]:
    """Return 95 % intervals of mean differences of per-task scores in 0..1, by the bootstrap over tasks.

    Two tasks with opposite differences are added to each pair, one in favour of each model; their size is the root
    mean square of the differences that are not 0. Without these tasks, four tasks that all favour one model would give
    an interval that excludes 0, although McNemar's p is 0.125; equal scores would give an interval of width 0.
    Source of the two tasks, for differences of 0 and 1: Bonett and Price 2012, "Adjusted Wald Confidence Interval for
    a Difference of Binomial Proportions Based on Paired Data"; of the percentile interval: Efron 1979. The quantile
    levels are those of the normal distribution at sqrt(n / (n - 1)) times Student's t, because the spread estimated
    from few tasks is uncertain: the expanded percentile interval of Hesterberg 2015, "What Teachers Should Know About
    the Bootstrap". benchmarks/comparison.py measures the coverage of the interval.

    ``scores`` has one row per model and one column per task; a pair holds the row numbers of its two models.
    """
    values = np.asarray(scores, dtype=np.float64)
    n_models, n_tasks = values.shape
    # All pairs share the draws, and a sum of differences is the difference of sums: 20 models cost 20 columns, not 190.
    columns = np.zeros((n_models + 1, n_tasks + 2))
    columns[:-1, :-2] = values
    columns[-1, -2:] = 1, -1
    *drawn, added = bootstrap_sums(columns, rounds=rounds, seed=seed)
    tail = NormalDist().cdf(-student_quantile(n_tasks - 1) * math.sqrt(n_tasks / max(1, n_tasks - 1)))
    found = []
    for first, second in pairs:
        differences = values[first] - values[second]
        moved = differences[abs(differences) > _ROUNDING]
        size = math.sqrt((moved**2).mean()) if len(moved) else 1.0
        mean = math.fsum(differences) / n_tasks
        low, high = np.quantile((drawn[first] - drawn[second] + size * added) / (n_tasks + 2), (tail, 1 - tail))
        # The added tasks pull towards 0: if a model solves all tasks, the interval would not contain the mean.
        found.append(Interval(max(-1.0, min(mean, float(low))), min(1.0, max(mean, float(high)))))
    return found


def sign_flip_ps(
    scores: ArrayLike, pairs: Sequence[tuple[int, int]], *, rounds: int = ROUNDS, seed: int = 0
) -> list[float]:
    """Return the two-sided p of the paired permutation test for each pair; each round swaps the models on random tasks.

    p is the share of rounds whose mean difference is at least as far from 0 as the observed difference. The
    observed difference itself counts as a round, so p is at least 1 / (rounds + 1). With one sample per task, p
    estimates McNemar's exact p.
    Source: Fisher 1935, The Design of Experiments, section 21; Phipson and Smyth 2010 for the added round.
    ``scores`` and ``pairs`` are those of :func:`difference_intervals`.
    """
    values = np.asarray(scores, dtype=np.float64)
    n_tasks = values.shape[1]
    generator = random.Random(seed)  # noqa: S311 - statistics, no secrets
    portions = []
    for n_rounds in _portions(rounds, n_tasks):
        heads = np.frombuffer(generator.randbytes(n_rounds * n_tasks), np.uint8).reshape(n_rounds, n_tasks) & 1
        portions.append(np.stack([(heads * row).sum(axis=1) for row in values]))
    kept = np.concatenate(portions, axis=1)
    found = []
    for first, second in pairs:
        total = math.fsum(values[first] - values[second])
        flipped = 2 * (kept[first] - kept[second]) - total
        found.append((1 + int((abs(flipped) >= abs(total) - _ROUNDING).sum())) / (1 + rounds))
    return found


def mean_interval(differences: Sequence[float], *, rounds: int = ROUNDS, seed: int = 0) -> Interval:
    """Return the interval of :func:`difference_intervals` for one pair, given its per-task differences in -1..1."""
    [found] = difference_intervals([differences, [0.0] * len(differences)], [(0, 1)], rounds=rounds, seed=seed)
    return found


def paired_interval(differences: Sequence[float]) -> Interval:
    """Return the 95 % interval of the mean of per-task differences, as comparisons show it.

    Tango's :func:`score_interval` if all differences are -1, 0 or 1 (single samples), else the bootstrap interval.
    """
    won, lost = differences.count(1.0), differences.count(-1.0)
    if differences and won + lost + differences.count(0.0) == len(differences):
        return score_interval(won, lost, len(differences))
    return mean_interval(differences)


def sign_flip_p(differences: Sequence[float], *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """Return the p of :func:`sign_flip_ps` for a single pair, given its per-task differences; 1.0 if there are none."""
    if not differences:
        return 1.0
    [found] = sign_flip_ps([differences, [0.0] * len(differences)], [(0, 1)], rounds=rounds, seed=seed)
    return found


def _portions(rounds: int, n_rows: int) -> Iterator[int]:
    """Split the rounds into portions that fit in memory; the random draws do not depend on the split."""
    most = max(4, _DRAWS_AT_ONCE // n_rows & ~3)  # a multiple of 4 uses up whole words of the generator
    while rounds > 0:
        yield min(rounds, most)
        rounds -= most
