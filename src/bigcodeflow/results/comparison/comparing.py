"""The whole comparison of two or more sides, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass

from bigcodeflow.results.comparison.bradley_terry import BOOTSTRAP_ROUNDS, Ratings, matches_of, ratings
from bigcodeflow.results.comparison.common_tasks import available_k, common_tasks, counts, left_out, named
from bigcodeflow.results.comparison.grids import Grid, grids_of
from bigcodeflow.results.comparison.overviews import Rates, Score, SolveRate, rates_of, scores_of, solve_rates
from bigcodeflow.results.comparison.pairs import Discordant, Method, Pair, compare_pairs, discordants
from bigcodeflow.results.comparison.sides import Side
from bigcodeflow.results.comparison.slices import By, slices_of


@dataclass(frozen=True, slots=True)
class Subject:
    """What one side is of."""

    label: str
    record: str
    run: str
    model: str
    started_at: str
    """When the run began, in ISO 8601, UTC."""
    split: str
    subset: str
    variant: str
    sanitizer: str
    temperature: float | None
    environment_shas: tuple[str, ...]
    backends: tuple[str, ...]
    harness_version: int | None
    n_tasks: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that a comparison found."""

    subjects: tuple[Subject, ...]
    notes: tuple[str, ...]
    """What a reader must know beside the numbers, a sentence each."""
    task_ids: tuple[str, ...]
    """The compared tasks."""
    k: tuple[int, ...]
    method: Method
    by: tuple[By, ...]
    scores: tuple[Score, ...]
    grids: tuple[Grid, ...]
    """The runs of each model that were asked with different settings."""
    pairs: tuple[Pair, ...]
    """Every pair over all tasks, for each k."""
    slices: tuple[Pair, ...]
    """Every pair on each slice, for the smallest k; empty where none were asked for."""
    ratings: Ratings | None
    """Bradley-Terry ratings with ties as half, in the order of the subjects; None where no task is judged in all,
    or the sides are of several subsets."""
    ratings_without_ties: Ratings | None
    """The same with ties left out, as in the benchmark's paper."""
    rates: tuple[Rates, ...]
    discordant: tuple[Discordant, ...]
    solve_rates: tuple[SolveRate, ...]
    solved_by_all: tuple[str, ...]
    """Tasks that every side solves in at least one judged sample."""
    unsolved_by_all: tuple[str, ...]
    """Tasks that no side solves in any judged sample, each side having one."""

    @property
    def ranked(self) -> bool:
        """The sides are of one split and subset, so that an order of them means something."""
        return len({(subject.subset, subject.split) for subject in self.subjects}) == 1


def compare(
    sides: Sequence[Side], *, k: Sequence[int] = (1, 5, 10), by: Sequence[By] = (), method: Method | None = None
) -> Comparison:
    """Set two or more sides against one another on the tasks that they share.

    Args:
        sides: see :func:`open_sides`.
        k: the k of pass@k; those that some side lacks samples for are left out.
        by: also compare on the slices of these kinds.
        method: how differences are tested.

    Raises:
        ArtifactError: sides that cannot be compared, no k that all have samples for, or a table that cannot be read.
    """
    method = method or Method()
    common = common_tasks(sides)
    tasks = common.task_ids
    found_k = available_k(sides, tasks, k)
    slices = [pair for kind in by for pair in slice_pairs(sides, tasks, by=kind, k=found_k[0], method=method)]
    pairs = [
        pair for one in found_k for pair in compare_pairs(sides, [("all", tasks)], kind="all", k=one, method=method)
    ]
    judged = [task_id for task_id in tasks if all(side.tasks[task_id].n_judged for side in sides)]
    shares = [[task.share for task in counts(side, judged)] for side in sides] if judged else []
    rated = shares if len({side.run.board for side in sides}) == 1 else []  # no ranking across boards
    matches = matches_of(rated, rounds=min(BOOTSTRAP_ROUNDS, method.rounds), seed=method.seed) if rated else None
    scores = tuple(score for side in sides for score in scores_of(side, tasks, found_k))
    passed = {task_id: [side.tasks[task_id].n_passed > 0 for side in sides] for task_id in judged}
    return Comparison(
        subjects=tuple(_subject(side) for side in sides),
        notes=(*common.notes, *_k_notes(sides, tasks, k, found_k)),
        task_ids=tasks,
        k=tuple(found_k),
        method=method,
        by=tuple(by),
        scores=scores,
        grids=tuple(grids_of(sides, scores)),
        pairs=tuple(pairs),
        slices=tuple(slices),
        ratings=ratings(matches, ties="half") if matches else None,
        ratings_without_ties=ratings(matches, ties="excluded") if matches else None,
        rates=tuple(rates_of(sides)),
        discordant=tuple(discordants(sides, tasks)),
        solve_rates=tuple(solve_rates(sides, tasks)),
        solved_by_all=tuple(task_id for task_id, solved in passed.items() if all(solved)),
        unsolved_by_all=tuple(task_id for task_id, solved in passed.items() if not any(solved)),
    )


def slice_pairs(sides: Sequence[Side], task_ids: Sequence[str], *, by: By, k: int, method: Method) -> list[Pair]:
    """Every pair on each slice of one kind."""
    parts = slices_of(counts(sides[0], task_ids), by)
    return compare_pairs(sides, parts, kind=by.value, k=k, method=method)


def _k_notes(sides: Sequence[Side], task_ids: Sequence[str], wanted: Sequence[int], found: Sequence[int]) -> list[str]:
    notes = []
    missing = sorted(set(wanted) - set(found))
    if missing and max(found) > 1:  # with one sample a task nobody expects pass@5
        notes.append(f"Not compared, as some run has too few samples: pass@{', pass@'.join(map(str, missing))}.")
    for one in found:
        lost = left_out(sides, task_ids, one)
        if lost:
            notes.append(
                f"pass@{one}: {len(lost):,} of {len(task_ids):,} tasks ({named(lost)}) have fewer than {one} judged "
                "samples in some run and are left out of its pairs."
            )
    return notes


def _subject(side: Side) -> Subject:
    version = side.settings.get("harness_version")
    return Subject(
        label=side.label,
        record=side.run.record,
        run=side.run.run,
        model=side.run.model,
        started_at=side.run.started_at.isoformat(),
        split=side.run.split,
        subset=side.run.subset,
        variant=side.variant,
        sanitizer=side.sanitizer,
        temperature=side.temperature,
        environment_shas=side.environment_shas,
        backends=side.backends,
        harness_version=version if isinstance(version, int) else None,
        n_tasks=len(side.tasks),
    )
