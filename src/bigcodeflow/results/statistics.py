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


def wilson_interval(share: float, n_tasks: int) -> Interval | None:
    """95 % score interval of a binomial share of n independent tasks; None without tasks.

    Its ends are the p that solve (share - p)^2 = z^2 p (1 - p) / n.
    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    """
    if n_tasks < 1:
        return None
    spread = Z_95 * Z_95 / n_tasks
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    # Rounding must not push an end past 0, 1 or the share itself: "100 %, interval 42 to 99.99 %" would be wrong.
    return Interval(max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def standard_error(scores: Sequence[float]) -> float | None:
    """Standard error of the mean of per-task scores, the task being the cluster; None for fewer than two tasks.

    Sample standard deviation (divisor n - 1) over the square root of the number of tasks. Source: Miller 2024, "Adding
    Error Bars to Evals", sections 2.1 and 2.2: samples of one task are not independent, so each task counts once.
    """
    if len(scores) < 2:  # noqa: PLR2004 - one value has no spread
        return None
    mean = math.fsum(scores) / len(scores)
    variance = math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
    return math.sqrt(variance / len(scores))


def normal_interval(mean: float, error: float) -> Interval:
    """95 % interval mean ± z * error, clipped to 0..1."""
    return Interval(max(0.0, mean - Z_95 * error), min(1.0, mean + Z_95 * error))


def estimate(scores: Sequence[float], *, one_sample_per_task: bool) -> Estimate:
    """Mean of per-task scores with its standard error and 95 % interval.

    One sample per task makes the scores zeros and ones: the Wilson interval. Several make them shares: the normal
    interval of the standard error across tasks. Where all tasks agree exactly, that error is 0 and the normal interval
    would claim certainty after two tasks; Wilson's, which is then the wider one, stands in.
    """
    n_tasks = len(scores)
    if n_tasks == 0:
        return Estimate(math.nan, None, None, 0)
    # fsum is exact, so the same verdicts give the same digits in any order of tasks.
    mean = min(1.0, math.fsum(scores) / n_tasks)
    error = standard_error(scores)
    if one_sample_per_task or not error:
        return Estimate(mean, error, wilson_interval(mean, n_tasks), n_tasks)
    return Estimate(mean, error, normal_interval(mean, error), n_tasks)
