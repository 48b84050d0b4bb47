"""Numbers of tasks and samples needed to detect a difference of two models in pass@1, see docs/statistics.md."""

import bisect
import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist, fmean, variance
from typing import NamedTuple

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results.comparison.common_tasks import common_tasks
from bigcodeflow.results.comparison.run_selection import ComparedRun, TaskCounts

#: Assumptions without a run: the score of both models, the share of the variance of one sample's outcome that lies
#: between tasks, and the correlation of the models' pass rates over tasks. With one sample per task, 27.5 % of tasks
#: are then solved by one model only; for the two recorded models with answers to all 1,140 tasks it is 27.3 %.
ASSUMED_SCORE = 0.5
ASSUMED_SHARE_BETWEEN_TASKS = 0.75
ASSUMED_CORRELATION = 0.6
#: Largest number of samples per task that is considered.
MOST_SAMPLES = 10_000
_NORMAL = NormalDist()
_FEW_TASKS = 30


class Variances(NamedTuple):
    """Variance, over tasks, of the difference between two models' pass rates (shares of samples that pass)."""

    between: float
    """Part caused by differences between tasks in the true pass rates; more samples do not reduce this part."""
    within: float
    """Part that chance adds with one sample per task; with n samples per task, chance adds an n-th of this part."""


class Basis(NamedTuple):
    """Variances, with the data and the assumptions from which they were estimated."""

    variances: Variances
    n_tasks: int
    """Number of tasks from which the variances were estimated; 0 if the variances are assumed."""
    notes: tuple[str, ...]
    """Sentences that say what was estimated and what was assumed."""


class Question(NamedTuple):
    """Input of the planning functions: variances, and the required power and significance level of the test."""

    variances: Variances
    power: float = 0.8
    """Required probability that the test detects a difference that exists."""
    alpha: float = 0.05
    """Two-sided significance level: probability that the test reports a difference although none exists."""


def power(question: Question, difference: float, n_tasks: int, n_samples: float) -> float:
    """Return the probability that the paired test of `bigcodeflow compare` detects the true ``difference``.

    Normal approximation of the sign-flip test, and of McNemar's exact test for one sample per task: a sum of N
    differences d has the variance N E[d^2] under the null hypothesis, and N Var[d] otherwise. Source: Connor 1987,
    "Sample Size for Testing Differences in Proportions for the Paired-Sample Design", formula 2. The sum moves in steps
    of 2 / n when differences change sign, so half a step is subtracted; otherwise the power of few samples would be too
    high. ``difference`` is a share in 0..1; ``n_samples`` per task may be infinite, for the upper limit of the power.
    """
    spread = _spread(question.variances, difference, n_samples)
    needed = -_NORMAL.inv_cdf(question.alpha / 2) * math.sqrt(n_tasks * (spread * spread + difference * difference))
    beyond = n_tasks * difference - 1 / n_samples - needed
    if spread == 0:
        return float(beyond > 0)
    return _NORMAL.cdf(beyond / (spread * math.sqrt(n_tasks)))


def tasks_needed(question: Question, difference: float, n_samples: float) -> int:
    """Return the smallest number of tasks on which the test detects ``difference`` with the question's power."""
    spread = _spread(question.variances, difference, n_samples)
    both = math.hypot(spread, difference) * -_NORMAL.inv_cdf(question.alpha / 2)
    both += spread * _NORMAL.inv_cdf(question.power)
    # The positive root x of difference * x^2 - both * x - 1 / n_samples = 0 is the square root of the number of tasks.
    root = (both + math.sqrt(both * both + 4 * difference / n_samples)) / (2 * difference)
    return max(2, math.ceil(round(root * root, 9)))


def samples_needed(question: Question, difference: float, n_tasks: int) -> int | None:
    """Return the fewest samples per task that give the required power on ``n_tasks`` tasks; None above MOST_SAMPLES."""
    wanted = range(1, MOST_SAMPLES + 1)
    # More samples need fewer tasks, so the negated numbers of tasks are in ascending order.
    fewest = bisect.bisect_left(wanted, -n_tasks, key=lambda n: -tasks_needed(question, difference, n))
    return wanted[fewest] if fewest < len(wanted) else None


def smallest_difference(question: Question, n_tasks: int, n_samples: float) -> float | None:
    """Return the smallest difference that the test detects with the question's power; None if it detects none."""
    if power(question, 1.0, n_tasks, n_samples) < question.power:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-7:  # noqa: PLR2004 - a hundred-thousandth of a point
        middle = (low + high) / 2
        found = power(question, middle, n_tasks, n_samples) >= question.power
        low, high = (low, middle) if found else (middle, high)
    return high


def basis_of(runs: Sequence[ComparedRun]) -> Basis:
    """Estimate variances from two runs, or from one run and an assumed second model; without runs, assume variances.

    The difference D of two models' pass rates has the variance ``between`` + ``within`` / n over tasks. If c of n
    samples pass, c (n - c) / (n (n - 1)) is an unbiased estimate of p (1 - p); its mean over tasks is one
    model's part of ``within``. ``between`` is estimated as the variance of D minus the variance that limited samples
    add. Source: Miller 2024, "Adding Error Bars to Evals", section 3. Raises ArtifactError for fewer than two common
    judged tasks.
    """
    if len(runs) > 2:  # noqa: PLR2004 - a pair
        raise ConfigError(f"plan: takes the runs of at most two models, got {len(runs)} runs: name one or two")
    if not runs:
        note = (
            f"Assumed, as no run is given: both models near {100 * ASSUMED_SCORE:.0f} %, "
            f"{100 * ASSUMED_SHARE_BETWEEN_TASKS:.0f} % of a sample's variance between tasks, rates that correlate by "
            f"{ASSUMED_CORRELATION}. Name recorded runs to use theirs."
        )
        one = ASSUMED_SCORE * (1 - ASSUMED_SCORE)
        return Basis(_of_two_alike(ASSUMED_SHARE_BETWEEN_TASKS * one, _assumed_within(ASSUMED_SCORE)), 0, (note,))
    tasks = [one for one in common_tasks(runs).task_ids if all(run.tasks[one].n_judged for run in runs)]
    if len(tasks) < 2:  # noqa: PLR2004 - one task has no variance
        raise ArtifactError(
            f"plan: {' and '.join(run.label for run in runs)} have {len(tasks)} tasks with judged samples in "
            "common, but variances need at least two: name runs with more common tasks"
        )
    rows = [[run.tasks[one] for one in tasks] for run in runs]
    if len(rows) > 1:
        variances = pair_variances(rows)
    else:
        between = max(0.0, variance([task.share for task in rows[0]]) - _noise(rows[0]))
        variances = _of_two_alike(between, _within(rows[0]))
    return Basis(variances, len(tasks), tuple(_notes(runs, rows)))


def _spread(variances: Variances, difference: float, n_samples: float) -> float:
    """Return the standard deviation over tasks of the pass rates' difference d, no less than the possible minimum.

    With n samples, d moves in steps of 1 / n, so E[d^2] >= |E[d]| / n, where E[d] is ``difference``. Without this
    minimum, a few tasks would seem to detect any difference if the runs agree on all tasks.
    """
    least = difference / n_samples - difference * difference
    return math.sqrt(max(variances.between + variances.within / n_samples, least, 0.0))


def pair_variances(rows: Sequence[Sequence[TaskCounts]]) -> Variances:
    """Estimate the variances of the difference between two runs' pass rates (shares of samples that pass).

    ``rows`` has one sequence per run, with the counts of each task; all have the same tasks in the same order.
    """
    total = variance([first.share - second.share for first, second in zip(*rows, strict=True)])
    noise, within = math.fsum(map(_noise, rows)), math.fsum(map(_within, rows))
    if any(map(_is_assumed, rows)) and noise > total:
        within *= total / noise  # an assumption must not exceed the observed variance
    return Variances(max(0.0, total - noise), within)


def _of_two_alike(between: float, within: float) -> Variances:
    return Variances(2 * (1 - ASSUMED_CORRELATION) * between, 2 * within)


def _noise(tasks: Sequence[TaskCounts]) -> float:
    """Return the part of the variance of a model's pass rates that its limited number of samples per task causes."""
    return _within(tasks) * fmean(1 / task.n_judged for task in tasks)


def _within(tasks: Sequence[TaskCounts]) -> float:
    """Return the mean over tasks of p (1 - p), p = pass rate: estimated if tasks have several samples, else assumed."""
    if _is_assumed(tasks):
        return _assumed_within(fmean(task.share for task in tasks))
    return fmean(
        task.n_passed * (task.n_judged - task.n_passed) / (task.n_judged * (task.n_judged - 1))
        for task in tasks
        if task.n_judged > 1
    )


def _is_assumed(tasks: Sequence[TaskCounts]) -> bool:
    return all(task.n_judged == 1 for task in tasks)


def _assumed_within(score: float) -> float:
    return (1 - ASSUMED_SHARE_BETWEEN_TASKS) * score * (1 - score)


def _notes(runs: Sequence[ComparedRun], rows: Sequence[Sequence[TaskCounts]]) -> Iterator[str]:
    n_tasks = len(rows[0])
    yield f"Variances of pass@1 from {' and '.join(run.label for run in runs)}, {n_tasks:,} tasks."
    single = [run.label for run, tasks in zip(runs, rows, strict=True) if _is_assumed(tasks)]
    if single:
        who = f"{single[0]} has" if len(single) < len(rows) else "there is"
        yield (
            f"Assumed, as {who} one sample a task: {100 * (1 - ASSUMED_SHARE_BETWEEN_TASKS):.0f} % of a sample's "
            "variance lies within tasks. The effect of more samples depends on this: record at least two samples a "
            "task to measure it."
        )
    if len(runs) == 1:
        yield (
            f"Assumed, as one run is given: the other model is like it, and the rates of the two correlate by "
            f"{ASSUMED_CORRELATION} over tasks. Name a run of the other model, too, to measure it."
        )
    if n_tasks < _FEW_TASKS:
        yield f"Variances from {n_tasks} tasks are rough: the true numbers may be half or twice as large."
