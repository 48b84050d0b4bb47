"""Test if a score changed by more than chance explains between two executions of the same tasks."""

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
    """Difference of two executions' scores on the tasks that both executions judged; shares are in 0..1."""

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
    """Number of tasks with a smaller share of passing samples in the later execution."""
    cause: str
    """Text that names other differences of the two executions, see :func:`cause_of`."""

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
    """Test if a later score differs from an earlier score; ``p_holm`` equals ``p`` until `adjusted` sets it.

    Args:
        earlier: the earlier execution, an object of any type.
        later: the later execution, of the same type.
        earlier_score: score of the earlier execution: mean over tasks of the share of passing samples.
        differences: the later minus the earlier share of passing samples, for each task where the shares differ.
        n_tasks: number of tasks that both executions judged.
        single: True if both executions have one judged sample of each task.
        cause: other differences of the executions, see :func:`cause_of`.
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
    """Return the changes with ``p_holm`` by Holm's method over their p-values and ``n_unchanged`` p-values of 1."""
    p_values = holm([*(change.p for change in changes), *[1.0] * n_unchanged])
    return [replace(change, p_holm=p) for change, p in zip(changes, p_values, strict=False)]


def cause_of(*, same_answers: bool, differing: Mapping[str, bool]) -> str:
    """Describe in words how two executions differ, apart from their scores.

    ``same_answers`` is True if both executed the same answers of the model. ``differing`` maps the description of a
    difference, such as 'another environment', to True if the executions differ in this.
    """
    found = ["the same answers, judged again" if same_answers else "answered again"]
    return ", ".join([*found, *(words for words, differs in differing.items() if differs)])


def _student_interval(moved: Sequence[float], mean: float, n_tasks: int) -> Interval:
    """Return Student's 95 % interval of ``mean``, the mean difference over tasks; ``moved`` omits differences of 0.

    The bootstrap that `bigcodeflow compare` uses would take too long for all pairs of runs in a store.
    """
    squares = math.fsum(difference**2 for difference in moved) - n_tasks * mean**2
    spread = student_quantile(n_tasks - 1) * math.sqrt(max(0.0, squares) / (n_tasks - 1) / n_tasks) if squares else 0.0
    return Interval(max(-1.0, mean - spread), min(1.0, mean + spread))
