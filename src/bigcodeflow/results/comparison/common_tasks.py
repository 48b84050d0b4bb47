"""Which tasks can be set against each other, and what a reader must know about the runs beside the numbers."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.comparison.sides import Side, TaskCounts
from bigcodeflow.results.splits import split_mismatch

_MOST_NAMED = 5


class CommonTasks(NamedTuple):
    """Tasks that every side has, with the same test text."""

    task_ids: tuple[str, ...]
    """In the order of the first side's dataset."""
    notes: tuple[str, ...]
    """What was left out, and how the runs differ, a sentence each."""


def common_tasks(sides: Sequence[Side]) -> CommonTasks:
    """The tasks that all sides share, and notes on whatever makes them less than fully comparable.

    Raises:
        ArtifactError: the sides answer different prompts, or share no task.
    """
    first = sides[0]
    for side in sides[1:]:
        if side.run.split != first.run.split:
            raise ArtifactError(
                f"{first.label} answers {first.run.split or 'unknown'} prompts, {side.label} "
                f"{side.run.split or 'unknown'} ones: compare runs of one split"
            )
    everywhere = [task_id for task_id in first.tasks if all(task_id in side.tasks for side in sides)]
    same = tuple(task_id for task_id in everywhere if len({side.tasks[task_id].test_sha256 for side in sides}) == 1)
    reliable = tuple(task_id for task_id in same if not any(task_id in side.run.excluded for side in sides))
    if not same:
        sizes = ", ".join(f"{side.label} {len(side.tasks):,}" for side in sides)
        raise ArtifactError(
            f"the runs have no task in common, by id and test text (tasks: {sizes}): compare runs over the same dataset"
        )
    if not reliable:
        raise ArtifactError(
            "every task that the runs have in common is in quarantine and left out by one of them: compare runs with "
            "execution.quarantine=flag"
        )
    notes = (*_restrictions(sides, everywhere, same), *_quarantine(sides, same, reliable), *_differences(sides))
    return CommonTasks(reliable, (*notes, *_own_notes(sides)))


def left_out(sides: Sequence[Side], task_ids: Sequence[str], k: int) -> list[str]:
    """Of the tasks those that some side has fewer than k judged samples of."""
    return [task_id for task_id in task_ids if any(side.tasks[task_id].n_judged < k for side in sides)]


def available_k(sides: Sequence[Side], task_ids: Sequence[str], wanted: Sequence[int]) -> list[int]:
    """Of the wanted k those for which every side was given enough samples of every task.

    Raises:
        ArtifactError: there is none.
    """
    fewest = min((side.tasks[task_id].n_given, side.label, task_id) for side in sides for task_id in task_ids)
    available = sorted({k for k in wanted if k <= fewest[0]})
    if not available:
        raise ArtifactError(
            f"no pass@k to compare for k in {', '.join(map(str, sorted(set(wanted))))}: {fewest[1]} has {fewest[0]} "
            f"samples of {fewest[2]}: ask for a smaller --k, or finish that run"
        )
    return available


def named(task_ids: Sequence[str]) -> str:
    """The first few ids, and how many more there are."""
    rest = len(task_ids) - _MOST_NAMED
    return ", ".join(task_ids[:_MOST_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def _restrictions(sides: Sequence[Side], everywhere: Sequence[str], same: Sequence[str]) -> list[str]:
    notes = []
    kept = set(everywhere)
    lost = [side for side in sides if side.tasks.keys() - kept]
    if lost:
        numbers = [f"{len(side.tasks.keys() - kept):,}" for side in lost]
        notes.append(
            f"Compared on the {len(same):,} tasks that all runs have; left out, as not every run has them: "
            f"{_shared_out(lost, numbers)}."
        )
    other = [task_id for task_id in everywhere if task_id not in set(same)]
    if other:
        notes.append(
            f"Left out, as their test text is not the same in all runs: {len(other):,} tasks ({named(other)}). The "
            "datasets are of different versions."
        )
    return notes


def _quarantine(sides: Sequence[Side], same: Sequence[str], reliable: Sequence[str]) -> list[str]:
    notes = []
    lost = [task_id for task_id in same if task_id not in set(reliable)]
    if lost:
        leaving = ", ".join(side.label for side in sides if side.run.excluded)
        notes.append(
            f"Left out for all runs, as {leaving} leaves them out of its score: {len(lost):,} quarantined tasks "
            f"({named(lost)})."
        )
    suspects = [task_id for task_id in reliable if any(task_id in side.run.quarantined for side in sides)]
    if suspects:
        notes.append(
            f"{len(suspects):,} of the compared tasks are in quarantine ({named(suspects)}): their own solutions do "
            "not always pass, so that a difference on them may be chance."
        )
    return notes


def _differences(sides: Sequence[Side]) -> list[str]:
    """What else than the model may have made a difference."""
    traits: list[tuple[str, Callable[[Side], str]]] = [
        (
            "Warning: judged in different environments",
            lambda side: ", ".join(sha[:12] for sha in side.environment_shas),
        ),
        (
            "Warning: judged by different harness versions",
            lambda side: str(side.settings.get("harness_version", "unknown")),
        ),
        ("Warning: judged on different backends", lambda side: ", ".join(side.backends)),
        *_limits(sides),
        ("The runs are of different subsets and are not ranked", lambda side: side.run.board),
        ("The runs differ in variant", lambda side: side.variant),
        ("The runs differ in sanitizer", lambda side: side.sanitizer),
    ]
    return [
        f"{title}: {_shared_out(sides, [trait(side) for side in sides])}."
        for title, trait in traits
        if any(trait(a) != trait(b) for a, b in pairwise(sides))
    ]


def _shared_out(sides: Sequence[Side], values: Sequence[str]) -> str:
    """Which sides have which value; of three and more the most frequent value is that of 'the others'."""
    having: dict[str, list[str]] = {}
    for side, value in zip(sides, values, strict=True):
        having.setdefault(value, []).append(side.label)
    most = max(having, key=lambda value: len(having[value]))
    rest = [f"the others: {most}"] if len(having) > 1 and len(having[most]) > 1 else []
    told = [f"{', '.join(labels)}: {value}" for value, labels in having.items() if not rest or value != most]
    return "; ".join([*told, *rest])


def _limits(sides: Sequence[Side]) -> list[tuple[str, Callable[[Side], str]]]:
    names = sorted({name for side in sides for name in side.settings.get("limits", {})})
    return [(f"Warning: judged under different limits, {name}", partial(_limit, name)) for name in names]


def _limit(name: str, side: Side) -> str:
    return str(side.settings.get("limits", {}).get(name, "unknown"))


def _own_notes(sides: Sequence[Side]) -> list[str]:
    notes = []
    for side in sides:
        mismatch = split_mismatch(side.run)
        if mismatch:
            notes.append(f"Warning: {side.label}: {mismatch}; its numbers are not those of its split: run it again.")
        lost = sum(task.n_given - task.n_judged for task in side.tasks.values())
        if lost:
            notes.append(
                f"Warning: {lost:,} samples of {side.label} were not judged for reasons outside the samples and count "
                "neither way; its numbers are provisional: run it again to judge them."
            )
    return notes


def counts(side: Side, task_ids: Sequence[str]) -> list[TaskCounts]:
    """The side's rows of the given tasks, in their order."""
    return [side.tasks[task_id] for task_id in task_ids]
