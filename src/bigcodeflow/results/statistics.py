"""Statistics of scores: pass@k and related metrics of a task, their mean over tasks, and its uncertainty."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

_LEVEL = 0.95
#: Standard normal quantile of a two-sided 95 % interval.
Z_95 = NormalDist().inv_cdf(0.975)


class Interval(NamedTuple):
    """Both ends of a 95 % interval: of a share in 0..1, of a difference of shares in -1..1, or of a rating."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A mean over tasks with its uncertainty; NaN or None replaces a statistic that needs more tasks."""

    value: float
    standard_error: float | None
    interval: Interval | None
    n_tasks: int


def pass_at_k(n_samples: int, n_passed: int, k: int) -> float:
    """Return the probability that at least one of k samples, drawn without replacement from a task's samples, passes.

    For c of n samples passed: 1 - C(n - c, k) / C(n, k), as the product 1 - prod(1 - k / i) over i = n - c + 1 .. n.
    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1 and figure 3.
    NaN if there are fewer than k samples, as the product would then give a wrong number. The product never overflows.
    """
    if not _possible(n_samples, n_passed, k):
        return math.nan
    return 1.0 - math.prod(1.0 - k / i for i in range(n_samples - n_passed + 1, n_samples + 1))


def pass_hat_k(n_samples: int, n_passed: int, k: int) -> float:
    """Return pass^k: the probability that all of k samples, drawn without replacement from a task's samples, pass.

    C(c, k) / C(n, k) for c of n samples passed. NaN if there are fewer than k samples.
    Source: Yao et al. 2024, "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains", section 3.
    """
    return _expected(n_samples, n_passed, k, lambda passes: int(passes == k))


def g_pass_at_k(n_samples: int, n_passed: int, k: int, threshold: float) -> float:
    """Return G-Pass@k: the probability that at least threshold * k of k samples drawn without replacement pass.

    For c of n samples passed: the sum over j = ceil(threshold k) .. k of C(c, j) C(n - c, k - j) / C(n, k). Threshold 1
    gives pass^k, a threshold up to 1 / k gives pass@k. NaN if there are fewer than k samples.
    Source: Liu et al. 2024, "Are Your LLMs Capable of Stable Reasoning?", the definition of G-Pass@k with threshold.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"G-Pass@{k} at threshold {threshold}: needs 0 < threshold <= 1")
    # 0.56 * 25 is 14.000000000000002 in floating point; without rounding, 15 of 25 would be required.
    fewest = math.ceil(round(threshold * k, 9))
    return _expected(n_samples, n_passed, k, lambda passes: int(passes >= max(1, fewest)))


def mg_pass_at_k(n_samples: int, n_passed: int, k: int) -> float:
    """Return mG-Pass@k: 2 / k times the sum of G-Pass@k at the thresholds i / k for i = ceil(k / 2) + 1 .. k.

    A draw with j passes counts in j - ceil(k / 2) of these terms. There are k - ceil(k / 2) terms, so a task without
    failures has the value 1 for an even k, and (k - 1) / k for an odd k. NaN if there are fewer than k samples.
    Source: Liu et al. 2024, "Are Your LLMs Capable of Stable Reasoning?", the definition of mG-Pass@k.
    """
    half = math.ceil(k / 2)
    return 2 * _expected(n_samples, n_passed, k, lambda passes: max(0, passes - half)) / k


def _expected(n_samples: int, n_passed: int, k: int, worth: Callable[[int], int]) -> float:
    """Return the mean of ``worth(j)``, j = passes among k samples drawn without replacement; NaN if n < k."""
    if not _possible(n_samples, n_passed, k):
        return math.nan
    # Integer arithmetic until the final division, so that only this rounds.
    draws = sum(
        worth(passes) * math.comb(n_passed, passes) * math.comb(n_samples - n_passed, k - passes)
        for passes in range(min(k, n_passed) + 1)
    )
    return draws / math.comb(n_samples, k)


def _possible(n_samples: int, n_passed: int, k: int) -> bool:
    """Tell if k samples can be drawn; raise ValueError if the counts are impossible."""
    if not (0 <= n_passed <= n_samples and k >= 1):
        raise ValueError(f"k is {k}, {n_passed} of {n_samples} samples passed: needs k >= 1 and 0 <= passed <= samples")
    return n_samples >= k


@cache
def student_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t for ``freedom`` degrees of freedom; infinity for 0 or fewer.

    By bisection; the probability comes from the finite series for whole degrees of freedom (Abramowitz and Stegun,
    26.7.3 and 26.7.4). An import of scipy would take 0.1 s of CPU in each run.
    """
    if freedom <= 0:
        return math.inf

    def probability(angle: float) -> float:
        cosine, total, term = math.cos(angle), 0.0, math.sin(angle)
        term *= cosine if freedom % 2 else 1.0
        for number in range(2 + freedom % 2, freedom + 1, 2):
            total += term
            term *= cosine * cosine * (number - 1) / number
        return 2 / math.pi * (angle + total) if freedom % 2 else total

    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if probability(middle) < _LEVEL else (low, middle)
    return math.sqrt(freedom) * math.tan(high)


def clustered_interval(scores: Sequence[float]) -> Interval | None:
    """Return the 95 % interval, clustered by task, of the mean of per-task scores in 0..1; None without tasks.

    The interval of Agresti and Coull for a share m (the mean) of N / d independent tasks, where Student's t for N - 1
    degrees of freedom replaces z: m' ± t sqrt(m' (1 - m') / (N / d + t^2)), m' = (m N / d + t^2 / 2) / (N / d + t^2).
    d is the design effect: the sum of squared deviations of the scores, divided by N m (1 - m), the largest possible
    sum for this mean (all scores 0 or 1). To both sums, (m - 1/2)^2 + 1/12 is added, the expected squared deviation of
    one more task with a score uniform in 0..1; otherwise the interval would be too narrow if a few tasks agree by
    chance. With one sample per task, d is 1.
    Source: Agresti and Coull 1998, "Approximate Is Better than Exact for Interval Estimation of Binomial Proportions";
    Korn and Graubard 1998, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts
    Estimated from Survey Data", for the effective size. benchmarks/intervals.py measures the coverage.
    """
    if not scores:
        return None
    n_tasks = len(scores)
    mean, squares = _mean(scores), _squares(scores)
    unseen = (mean - 0.5) ** 2 + 1 / 12
    effect = min(1.0, (squares + unseen) / (n_tasks * mean * (1 - mean) + unseen))
    # A single task has no degrees of freedom; with 1 assumed, its interval is nearly 0 to 1.
    spread = student_quantile(max(1, n_tasks - 1)) ** 2
    total = n_tasks / effect + spread
    centre = (mean * n_tasks / effect + spread / 2) / total
    half = math.sqrt(spread * centre * (1 - centre) / total)
    # Rounding must not move an end beyond 0, 1 or the mean: "100 %, interval 42 to 99.99 %" would be wrong.
    return Interval(max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half)))


def standard_error(scores: Sequence[float]) -> float | None:
    """Return the standard error, clustered by task, of the mean of per-task scores; None for fewer than two tasks.

    Sample standard deviation (divisor n - 1) over the square root of the number of tasks. Source: Miller 2024, "Adding
    Error Bars to Evals", sections 2.1 and 2.2: samples of a task are not independent, so each task counts once.
    """
    if len(scores) < 2:  # noqa: PLR2004 - one value has no spread
        return None
    return math.sqrt(_squares(scores) / (len(scores) - 1) / len(scores))


def estimate(scores: Sequence[float]) -> Estimate:
    """Return the mean of per-task scores with its standard error and 95 % interval."""
    if not scores:
        return Estimate(math.nan, None, None, 0)
    return Estimate(_mean(scores), standard_error(scores), clustered_interval(scores), len(scores))


def bayes_at_n(counts: Sequence[tuple[int, int]]) -> Estimate:
    """Return Bayes@N: the posterior mean of the mean pass rate of exactly these tasks, with a 95 % credible interval.

    Under a uniform prior, the pass rate of a task with c of n samples passed is Beta(c + 1, n - c + 1), with mean
    m = (c + 1) / (n + 2) and variance m (1 - m) / (n + 3). The value is the mean of m, the standard error is the square
    root of the summed variances over the number of tasks, and the interval is normal, clipped to 0..1.
    Source: Hariri et al. 2025, "Don't Pass@k: A Bayesian Framework for Large Language Model Evaluation", the case of
    two outcomes without prior samples; here n may differ by task. ``counts``: samples and passed samples of each task.
    """
    if not counts:
        return Estimate(math.nan, None, None, 0)
    means = [(passed + 1) / (samples + 2) for samples, passed in counts]
    variances = (mean * (1 - mean) / (samples + 3) for mean, (samples, _) in zip(means, counts, strict=True))
    value, error = math.fsum(means) / len(means), math.sqrt(math.fsum(variances)) / len(means)
    ends = Interval(max(0.0, value - Z_95 * error), min(1.0, value + Z_95 * error))
    return Estimate(value, error, ends, len(means))


def _mean(scores: Sequence[float]) -> float:
    """Return the mean of the scores; the sum is exact, so that the order of tasks changes no digit."""
    return min(1.0, math.fsum(scores) / len(scores))


def _squares(scores: Sequence[float]) -> float:
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores)
