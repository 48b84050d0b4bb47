"""The numbers behind a score: pass@k of a task, its mean over tasks, and how sure that mean is."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

#: Standard normal quantile of a two-sided 95 % interval.
Z_95 = NormalDist().inv_cdf(0.975)


class Interval(NamedTuple):
    """Both ends of a 95 % interval of a share, each in 0..1."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A mean over tasks with its uncertainty; NaN and None where the tasks cannot tell."""

    value: float
    standard_error: float | None
    interval: Interval | None
    n_tasks: int


def pass_at_k(n_samples: int, n_passed: int, k: int) -> float:
    """Probability that at least one of k samples drawn without replacement from a task's samples passes.

    1 - C(n - c, k) / C(n, k) in its product form 1 - prod(1 - k / i) over i = n - c + 1 .. n, which overflows for no n.
    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1 and figure 3.
    NaN where there are fewer than k samples: the product alone would claim 1.0 there.

    Raises:
        ValueError: counts that no task can have.
    """
    if not (0 <= n_passed <= n_samples and k >= 1):
        raise ValueError(f"pass@{k} of {n_passed} passed in {n_samples} samples: needs 0 <= passed <= samples, k >= 1")
    if n_samples < k:
        return math.nan
    return 1.0 - math.prod(1.0 - k / i for i in range(n_samples - n_passed + 1, n_samples + 1))


def student_quantile(freedom: int) -> float:
    """97.5 % quantile of Student's t; infinite without degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975)) if freedom > 0 else math.inf


def clustered_interval(scores: Sequence[float]) -> Interval | None:
    """95 % interval of the mean of per-task scores in 0..1, the task being the cluster; None without tasks.

    The interval of Agresti and Coull for a share of m among N / d independent tasks, with Student's t for N - 1 degrees
    of freedom in place of z: m' ± t sqrt(m' (1 - m') / (N / d + t^2)), m' = (m N / d + t^2 / 2) / (N / d + t^2).
    d is the design effect: the scores' sum of squares over N m (1 - m), the one of zeros and ones with the same mean,
    which is the greatest there is. To both sums one more task is added whose score may be anything in 0..1, that is
    (m - 1/2)^2 + 1/12: where few tasks happen to agree, the interval would deny that there are others. One sample a
    task makes d 1.
    Source: Agresti and Coull 1998, "Approximate Is Better than Exact for Interval Estimation of Binomial Proportions";
    Korn and Graubard 1998, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts
    Estimated from Survey Data", for the effective size. benchmarks/intervals.py measures how often it holds the truth.
    """
    if not scores:
        return None
    n_tasks = len(scores)
    mean, squares = _mean(scores), _squares(scores)
    unseen = (mean - 0.5) ** 2 + 1 / 12
    effect = min(1.0, (squares + unseen) / (n_tasks * mean * (1 - mean) + unseen))
    # A single task has no degree of freedom left; one makes its interval nearly 0 to 1.
    spread = student_quantile(max(1, n_tasks - 1)) ** 2
    total = n_tasks / effect + spread
    centre = (mean * n_tasks / effect + spread / 2) / total
    half = math.sqrt(spread * centre * (1 - centre) / total)
    # Rounding must not push an end past 0, 1 or the mean itself: "100 %, interval 42 to 99.99 %" would be wrong.
    return Interval(max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half)))


def standard_error(scores: Sequence[float]) -> float | None:
    """Standard error of the mean of per-task scores, the task being the cluster; None for fewer than two tasks.

    Sample standard deviation (divisor n - 1) over the square root of the number of tasks. Source: Miller 2024, "Adding
    Error Bars to Evals", sections 2.1 and 2.2: samples of one task are not independent, so each task counts once.
    """
    if len(scores) < 2:  # noqa: PLR2004 - one value has no spread
        return None
    return math.sqrt(_squares(scores) / (len(scores) - 1) / len(scores))


def normal_interval(mean: float, error: float) -> Interval:
    """95 % interval mean ± z * error, clipped to 0..1."""
    return Interval(max(0.0, mean - Z_95 * error), min(1.0, mean + Z_95 * error))


def estimate(scores: Sequence[float]) -> Estimate:
    """Mean of per-task scores with its standard error and 95 % interval."""
    if not scores:
        return Estimate(math.nan, None, None, 0)
    return Estimate(_mean(scores), standard_error(scores), clustered_interval(scores), len(scores))


def _mean(scores: Sequence[float]) -> float:
    """Exact sums give the same digits in any order of tasks."""
    return min(1.0, math.fsum(scores) / len(scores))


def _squares(scores: Sequence[float]) -> float:
    """Sum of squared distances from the mean."""
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores)
