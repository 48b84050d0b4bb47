"""Test the change of a score between two executions of the same tasks: is it more than chance explains?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from bigcodeflow.results.comparison.paired_tests import SIGNIFICANCE_LEVEL, holm, mcnemar, score_interval, sign_flip_p
from bigcodeflow.results.statistics import Interval, student_quantile

Scored = TypeVar("Scored")
#: Shares of passing samples that differ by less are equal; with different n they may differ in the last digit.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Change(Generic[Scored]):
    """Difference of two scores on the tasks that both executions judged; shares are in 0..1."""

    earlier: Scored
    later: Scored
    earlier_score: float
    difference: float
    """Later score minus earlier score."""
    interval: Interval
    """95 % interval of the difference: Tango's for one sample per task, else Student's over tasks."""
    p: float
    """p-value of McNemar's test for one sample per task, else of the sign-flip test over tasks."""
    p_holm: float
    """p adjusted by Holm's method over all changes that are shown together."""
    n_tasks: int
    n_better: int
    n_worse: int
    """Number of tasks with a smaller share of passing samples than before."""
    cause: str
    """Text about other differences of the two executions."""

    @property
    def later_score(self) -> float:
        """Score of the later execution."""
        return self.earlier_score + self.difference

    @property
    def significant(self) -> bool:
        """True if p_holm is below 0.05: chance alone gives such a difference in less than 5 % of comparisons."""
        return self.p_holm < SIGNIFICANCE_LEVEL

    @property
    def is_worse(self) -> bool:
        """True if the score dropped significantly."""
        return self.significant and self.difference < 0


def change_of(
    earlier: Scored,
    later: Scored,
    *,
    earlier_score: float,
    differences: Sequence[float],
    n_tasks: int,
    single: bool,
    cause: str,
) -> Change[Scored]:
    """Test a change; its p is not adjusted yet.

    Args:
        earlier: the earlier of the two that are compared.
        later: the later one.
        earlier_score: mean over the tasks of the earlier share of passing samples.
        differences: later minus earlier share, of the tasks that differ; others may be left out.
        n_tasks: number of tasks that both judged.
        single: True if both have one judged sample of each task.
        cause: other differences, see :func:`cause_of`.
    """
    moved = [difference for difference in differences if abs(difference) > _ROUNDING]
    better = sum(difference > 0 for difference in moved)
    mean = math.fsum(moved) / n_tasks
    if single:
        interval, p = score_interval(better, len(moved) - better, n_tasks), mcnemar(better, len(moved) - better)
    else:
        interval, p = _student_interval(moved, mean, n_tasks), sign_flip_p(moved)
    return Change(
        earlier=earlier,
        later=later,
        earlier_score=earlier_score,
        difference=mean,
        interval=interval,
        p=p,
        p_holm=p,
        n_tasks=n_tasks,
        n_better=better,
        n_worse=len(moved) - better,
        cause=cause,
    )


def adjusted(changes: Sequence[Change[Scored]], n_unchanged: int = 0) -> list[Change[Scored]]:
    """Adjust p by Holm's method over the changes and ``n_unchanged`` other pairs, whose scores are equal."""
    p_values = holm([*(change.p for change in changes), *[1.0] * n_unchanged])
    return [replace(change, p_holm=p) for change, p in zip(changes, p_values, strict=False)]


def cause_of(*, same_answers: bool, differing: Mapping[str, bool]) -> str:
    """Describe in words how two executions differ, besides in their scores.

    ``differing`` maps a description, such as 'another environment', to True if it applies.
    """
    found = ["the same answers, judged again" if same_answers else "answered again"]
    return ", ".join([*found, *(words for words, differs in differing.items() if differs)])


def _student_interval(moved: Sequence[float], mean: float, n_tasks: int) -> Interval:
    """Return Student's interval of the mean of paired differences, which are 0 for all tasks that are not in ``moved``.

    Comparisons of two runs resample instead, which takes too long for all series of a store.
    """
    squares = math.fsum(difference**2 for difference in moved) - n_tasks * mean**2
    spread = student_quantile(n_tasks - 1) * math.sqrt(max(0.0, squares) / (n_tasks - 1) / n_tasks) if squares else 0.0
    return Interval(max(-1.0, mean - spread), min(1.0, mean + spread))
