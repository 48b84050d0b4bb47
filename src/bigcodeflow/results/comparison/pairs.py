"""Comparison of two models on the same tasks: difference, interval, test, and the tasks that make the difference."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

from bigcodeflow.results.comparison.common_tasks import left_out
from bigcodeflow.results.comparison.paired_tests import (
    ROUNDS,
    SIGNIFICANCE_LEVEL,
    difference_intervals,
    holm,
    mcnemar,
    score_interval,
    sign_flip_ps,
)
from bigcodeflow.results.comparison.run_selection import ComparedRun
from bigcodeflow.results.statistics import Interval, pass_at_k


class Method(NamedTuple):
    """Options of the tests of differences; the same ``seed`` gives the same results."""

    seed: int = 0
    rounds: int = ROUNDS
    """Rounds of the bootstrap and of the sign-flip test, which are used for several samples per task."""
    mid_p: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """The difference of two runs in pass@k over the tasks of one slice; shares are in 0..1."""

    first: str
    second: str
    slice_kind: str
    """Kind of slice: all, domain, library, libraries, length or subset."""
    slice: str
    k: int
    n_tasks: int
    n_left_out: int
    """Tasks of the slice with fewer than k judged samples in either run."""
    first_score: float
    second_score: float
    difference: float
    """first_score - second_score; NaN, like the scores, if no task is left."""
    interval: Interval | None
    """95 % interval of the difference: Tango's for McNemar's test, else the bootstrap's; None if no task is left."""
    test: str
    """Name of the test: mcnemar, mcnemar mid-p or sign flip."""
    p: float | None
    """Two-sided p-value; None if no task is left."""
    p_holm: float | None
    """p adjusted by Holm's method over all pairs of runs and all slices of ``slice_kind``, for the same k."""
    n_first_better: int
    """Number of tasks on which the first run scores higher."""
    n_second_better: int

    @property
    def significant(self) -> bool:
        """True if p_holm is below 0.05: chance alone gives such a difference in less than 5 % of comparisons."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANCE_LEVEL


class Discordant(NamedTuple):
    """Tasks that only the first or only the second of two runs solves, in at least one judged sample."""

    first: str
    second: str
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def pair_verdict(pair: Pair, names: Mapping[str, str] | None = None) -> str:
    """Return a phrase that names the better run if the difference is significant; ``names`` maps labels to names."""
    if pair.p_holm is None:
        return "no task to compare on"
    if not pair.significant:
        return "no significant difference"
    better = pair.first if pair.difference > 0 else pair.second
    return f"{(names or {}).get(better, better)} is better"


def compare_pairs(
    runs: Sequence[ComparedRun], slices: Sequence[tuple[str, Sequence[str]]], *, kind: str, k: int, method: Method
) -> list[Pair]:
    """Compare all pairs of runs on all ``slices`` (name, task ids); adjust p-values for the number of comparisons."""
    pairs = []
    for name, tasks in slices:
        pairs += _on_slice(runs, tasks, method, partial(Pair, slice_kind=kind, slice=name, k=k, p_holm=None), k)
    adjusted = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    return [pair if pair.p is None else replace(pair, p_holm=next(adjusted)) for pair in pairs]


def discordants(runs: Sequence[ComparedRun], task_ids: Sequence[str]) -> list[Discordant]:
    """Return for each pair of runs the tasks, judged in both runs, that exactly one of the two runs solves."""

    def only(first: ComparedRun, second: ComparedRun) -> tuple[str, ...]:
        judged = (one for one in task_ids if second.tasks[one].n_judged)
        return tuple(one for one in judged if first.tasks[one].n_passed and not second.tasks[one].n_passed)

    return [Discordant(a.label, b.label, only(a, b), only(b, a)) for a, b in combinations(runs, 2)]


#: Interval and p from resampling.
_Drawn = tuple[Interval, float]


class _TaskScores(NamedTuple):
    """pass@k of a run on each task of a slice for which both runs of a pair have k judged samples."""

    label: str
    scores: list[float]
    single: bool
    """True if the run has one judged sample of each task."""


def _on_slice(
    runs: Sequence[ComparedRun], tasks: Sequence[str], method: Method, make: Callable[..., Pair], k: int
) -> list[Pair]:
    """Compare all pairs of runs on a slice's ``tasks``; ``make`` constructs a Pair with the slice's fields preset."""
    short = [frozenset(left_out([run], tasks, k)) for run in runs]
    alike: dict[frozenset[str], list[tuple[int, int]]] = {}
    for first, second in combinations(range(len(runs)), 2):
        alike.setdefault(short[first] | short[second], []).append((first, second))
    found: dict[tuple[int, int], Pair] = {}
    # Pairs that leave out the same tasks, usually none, share the random draws.
    for lost, pairs in alike.items():
        kept = [one for one in tasks if one not in lost]
        rows = {place: _task_scores(runs[place], kept, k) for place in sorted({one for pair in pairs for one in pair})}
        drawn = _resampled(rows, [pair for pair in pairs if not all(rows[one].single for one in pair)], method)
        for first, second in pairs:
            of_pair = partial(make, n_left_out=len(lost))
            found[first, second] = _tested(rows[first], rows[second], drawn.get((first, second)), method, of_pair)
    return [found[places] for places in sorted(found)]


def _task_scores(run: ComparedRun, task_ids: Sequence[str], k: int) -> _TaskScores:
    tasks = [run.tasks[task_id] for task_id in task_ids]
    scores = [pass_at_k(task.n_judged, task.n_passed, k) for task in tasks]
    return _TaskScores(run.label, scores, all(task.n_judged == 1 for task in tasks))


def _resampled(
    rows: Mapping[int, _TaskScores], pairs: Sequence[tuple[int, int]], method: Method
) -> dict[tuple[int, int], _Drawn]:
    """Return interval and p, estimated by resampling, for each pair of run indexes; return {} if no task is left."""
    scores = [row.scores for row in rows.values()]
    if not pairs or not scores[0]:
        return {}
    row_of = {place: number for number, place in enumerate(rows)}
    numbered = [(row_of[first], row_of[second]) for first, second in pairs]
    intervals = difference_intervals(scores, numbered, rounds=method.rounds, seed=method.seed)
    ps = sign_flip_ps(scores, numbered, rounds=method.rounds, seed=method.seed)
    return dict(zip(pairs, zip(intervals, ps, strict=True), strict=True))


def _tested(
    first: _TaskScores, second: _TaskScores, drawn: _Drawn | None, method: Method, make: Callable[..., Pair]
) -> Pair:
    """Build a Pair with McNemar's p and Tango's interval for one sample per task, else with the resampled ``drawn``."""
    n_tasks = len(first.scores)
    # Equal shares of different n may differ in the last digit; such a difference must not count.
    moved = [a - b for a, b in zip(first.scores, second.scores, strict=True) if not math.isclose(a, b, abs_tol=1e-12)]
    better = sum(value > 0 for value in moved)
    interval, p = drawn or (None, None)
    test = "sign flip"
    if first.single and second.single:
        test = "mcnemar mid-p" if method.mid_p else "mcnemar"
        if n_tasks:
            interval = score_interval(better, len(moved) - better, n_tasks)
            p = mcnemar(better, len(moved) - better, mid_p=method.mid_p)
    first_score, second_score, difference = (
        math.fsum(values) / n_tasks if n_tasks else math.nan for values in (first.scores, second.scores, moved)
    )
    return make(
        first=first.label,
        second=second.label,
        n_tasks=n_tasks,
        first_score=first_score,
        second_score=second_score,
        difference=difference,
        interval=interval,
        test=test,
        p=p,
        n_first_better=better,
        n_second_better=len(moved) - better,
    )
