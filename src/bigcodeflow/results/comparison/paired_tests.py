"""McNemar's exact test of two models, Holm's adjustment of many tests, and Tango's interval of a difference."""

import math
from collections.abc import Sequence

from bigcodeflow.results.statistics import Z_95, Interval

#: A result that chance gives less often than this is called significant.
SIGNIFICANCE_LEVEL = 0.05
_HALVINGS = 60  # of a width of 2 at most: to the last digit


def mcnemar(only_first: int, only_second: int, *, mid_p: bool = False) -> float:
    """Two-sided exact p of McNemar's test for one sample a task.

    Only tasks that one of the two models solves say which is better; under the null hypothesis each such task falls to
    either model like a coin. p = 2 P(X <= min) with X binomial(n, 1/2), at most 1. The mid-p variant counts the
    observed split half: it is less cautious, and not exact.
    Source: McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013, "The McNemar test for binary matched-pairs
    data".

    Args:
        only_first: tasks that the first model solves and the second does not.
        only_second: tasks that the second model solves and the first does not.
        mid_p: take the mid-p variant.

    Raises:
        ValueError: a negative count.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"McNemar's test of {only_first} and {only_second} tasks: counts are never negative")
    n_tasks, fewer = only_first + only_second, min(only_first, only_second)
    # Whole numbers until the division: floating point would round the tail of 1,140 coins.
    ways = 2 * sum(math.comb(n_tasks, count) for count in range(fewer + 1))
    if mid_p:
        ways -= math.comb(n_tasks, fewer)
    return min(1.0, ways / (1 << n_tasks))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, in the given order, adjusted so that any false finding among them stays at the level of one test.

    The smallest is multiplied by their number, the next by one less, and so on; none falls below an earlier one, none
    exceeds 1. Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = floor
    return adjusted


def score_interval(only_first: int, only_second: int, n_tasks: int) -> Interval:
    """95 % score interval of the difference of two models' shares of solved tasks, first less second.

    It holds every difference D that McNemar's test, put for D instead of 0 and without correction, does not reject:
    (b - c - n D)^2 <= z^2 n (2 q + D (1 - D)), with b and c the tasks that only the first or only the second solves,
    and q the most likely share of the latter where D is true, the larger root of
    2 n q^2 + ((2 n - b + c) D - b - c) q - c D (1 - D) = 0.
    It leaves out 0 where (b - c)^2 > z^2 (b + c), which the exact test, being more cautious, may not call significant.
    Source: Tango 1998, "Equivalence Test and Confidence Interval for the Difference in Proportions for the
    Paired-Sample Design". benchmarks/comparison.py measures how often the interval holds the truth.

    Args:
        only_first: tasks that the first model solves and the second does not.
        only_second: tasks that the second model solves and the first does not.
        n_tasks: all tasks, also those that both or neither solve.

    Raises:
        ValueError: counts that no tasks can have.
    """
    if min(only_first, only_second) < 0 or only_first + only_second > n_tasks or n_tasks < 1:
        raise ValueError(
            f"score interval of {only_first} and {only_second} of {n_tasks} tasks: needs counts of 0 and more that "
            "together are no more than all tasks"
        )
    # Exchanging the models turns the interval round, so that one end serves for both.
    return Interval(-_upper(only_second, only_first, n_tasks), _upper(only_first, only_second, n_tasks))


def _upper(only_first: int, only_second: int, n_tasks: int) -> float:
    """The largest difference that is not rejected, by halving: above the observed one each is less likely."""
    low, high = (only_first - only_second) / n_tasks, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _holds(middle, only_first, only_second, n_tasks):
            low = middle
        else:
            high = middle
    return high


def _holds(difference: float, only_first: int, only_second: int, n_tasks: int) -> bool:
    linear = (2 * n_tasks - only_first + only_second) * difference - only_first - only_second
    constant = -only_second * difference * (1 - difference)
    share = (math.sqrt(max(0.0, linear * linear - 8 * n_tasks * constant)) - linear) / (4 * n_tasks)
    variance = n_tasks * (2 * share + difference * (1 - difference))
    return (only_first - only_second - n_tasks * difference) ** 2 <= Z_95 * Z_95 * variance
