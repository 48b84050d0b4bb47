"""The complete comparison of two or more runs as an object, and as JSON and CSV for other programs."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from bigcodeflow.results.comparison.bradley_terry import BOOTSTRAP_ROUNDS, Ratings, matches_of, ratings
from bigcodeflow.results.comparison.common_tasks import By, available_k, common_tasks, left_out, named, slices_of
from bigcodeflow.results.comparison.pairs import Discordant, Method, Pair, compare_pairs, discordants, pair_verdict
from bigcodeflow.results.comparison.run_metrics import (
    Grid,
    Rates,
    Score,
    SolveRate,
    grids_of,
    rates_of,
    scores_of,
    solve_rates,
)
from bigcodeflow.results.comparison.run_selection import ComparedRun
from bigcodeflow.results.formatting import csv_text, json_text, plain

_COLUMNS = (
    "slice_kind", "slice", "k", "first", "first_record", "second", "second_record", "split", "first_subset",
    "second_subset", "first_score", "second_score", "difference", "ci_low", "ci_high", "n_tasks", "n_left_out",
    "n_first_better", "n_second_better", "test", "p", "p_holm", "significant", "verdict",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """All results of a comparison."""

    runs: tuple[ComparedRun, ...]
    notes: tuple[str, ...]
    """Sentences that a reader needs with the numbers."""
    task_ids: tuple[str, ...]
    """The compared tasks."""
    k: tuple[int, ...]
    method: Method
    by: tuple[By, ...]
    scores: tuple[Score, ...]
    grids: tuple[Grid, ...]
    """Runs of the same model with different request settings."""
    pairs: tuple[Pair, ...]
    """All pairs of runs over all tasks, for each k."""
    slices: tuple[Pair, ...]
    """All pairs of runs on each slice, for the smallest k; empty if no slices were requested."""
    ratings: Ratings | None
    """Bradley-Terry ratings in run order, ties as half; None if no task is judged in all runs, or boards differ."""
    ratings_without_ties: Ratings | None
    """Bradley-Terry ratings without ties, as in the benchmark's paper; None as for ``ratings``."""
    rates: tuple[Rates, ...]
    discordant: tuple[Discordant, ...]
    solve_rates: tuple[SolveRate, ...]
    solved_by_all: tuple[str, ...]
    """Tasks that every run solves in at least one judged sample."""
    unsolved_by_all: tuple[str, ...]
    """Tasks that have judged samples in all runs and that no run solves."""

    @property
    def ranked(self) -> bool:
        """True if all runs have the same board (subset, split, kind of tasks), so that they can be ranked."""
        return len({run.recorded.board for run in self.runs}) == 1

    @property
    def best(self) -> str:
        """Label of the run with the highest pass@k for the smallest k; empty if the runs are not ranked."""
        scores = [score for score in self.scores if score.k == self.k[0]]
        return max(scores, key=lambda score: score.value).label if self.ranked else ""


def compare(
    runs: Sequence[ComparedRun], *, k: Sequence[int] = (1, 5, 10), by: Sequence[By] = (), method: Method | None = None
) -> Comparison:
    """Compare two or more runs on their common tasks, and on slices of these tasks by each property in ``by``.

    A value in ``k`` is left out if some run has fewer than k samples of a task. Raises ArtifactError if no k or no task
    is left.
    """
    method = method or Method()
    common = common_tasks(runs)
    tasks = common.task_ids
    found_k = available_k(runs, tasks, k)
    pairs = [
        pair for one in found_k for pair in compare_pairs(runs, [("all", tasks)], kind="all", k=one, method=method)
    ]
    facts = [runs[0].tasks[task_id] for task_id in tasks]
    slices = [
        pair
        for kind in by
        for pair in compare_pairs(runs, slices_of(facts, kind), kind=kind.value, k=found_k[0], method=method)
    ]
    judged = [task_id for task_id in tasks if all(run.tasks[task_id].n_judged for run in runs)]
    shares = [[run.tasks[task_id].share for task_id in judged] for run in runs] if judged else []
    rated = shares if len({run.recorded.board for run in runs}) == 1 else []  # no ranking across boards
    matches = matches_of(rated, rounds=min(BOOTSTRAP_ROUNDS, method.rounds), seed=method.seed) if rated else None
    scores = tuple(score for run in runs for score in scores_of(run, tasks, found_k))
    passed = {task_id: [run.tasks[task_id].n_passed > 0 for run in runs] for task_id in judged}
    return Comparison(
        runs=tuple(runs),
        notes=(*common.notes, *_k_notes(runs, tasks, k, found_k)),
        task_ids=tasks,
        k=tuple(found_k),
        method=method,
        by=tuple(by),
        scores=scores,
        grids=tuple(grids_of(runs, scores)),
        pairs=tuple(pairs),
        slices=tuple(slices),
        ratings=ratings(matches, ties="half") if matches else None,
        ratings_without_ties=ratings(matches, ties="excluded") if matches else None,
        rates=tuple(rates_of(runs)),
        discordant=tuple(discordants(runs, tasks)),
        solve_rates=tuple(solve_rates(runs, tasks)),
        solved_by_all=tuple(task_id for task_id, solved in passed.items() if all(solved)),
        unsolved_by_all=tuple(task_id for task_id, solved in passed.items() if not any(solved)),
    )


def _k_notes(
    runs: Sequence[ComparedRun], task_ids: Sequence[str], wanted: Sequence[int], found: Sequence[int]
) -> list[str]:
    notes = []
    missing = sorted(set(wanted) - set(found))
    if missing and max(found) > 1:  # with one sample per task nobody expects pass@5
        notes.append(f"Not compared, as some run has too few samples: pass@{', pass@'.join(map(str, missing))}.")
    for one in found:
        lost = left_out(runs, task_ids, one)
        if lost:
            notes.append(
                f"pass@{one}: {len(lost):,} of {len(task_ids):,} tasks ({named(lost)}) have fewer than {one} judged "
                "samples in some run and are left out of its pairs."
            )
    return notes


def to_json(comparison: Comparison) -> str:
    """Return the whole comparison as JSON; shares are in 0..1, unknown values are null."""
    content = {field.name: getattr(comparison, field.name) for field in fields(comparison) if field.name != "runs"}
    content |= {name: _pair_rows(comparison, content[name]) for name in ("pairs", "slices")}
    return json_text({"subjects": [_run_row(run) for run in comparison.runs], **content})


def to_csv(comparison: Comparison) -> str:
    """Return CSV: rows per pair of runs and k, then rows per pair and slice; shares in 0..1, unknown cells empty."""
    return csv_text(_COLUMNS, _pair_rows(comparison, (*comparison.pairs, *comparison.slices)))


def _run_row(run: ComparedRun) -> dict[str, Any]:
    return {
        "label": run.label,
        **{name: getattr(run.recorded, name) for name in ("record", "run", "model")},
        "started_at": run.recorded.started_at.isoformat(),
        **{name: getattr(run.recorded, name) for name in ("split", "subset")},
        **{
            name: getattr(run, name) for name in ("variant", "sanitizer", "temperature", "environment_shas", "backends")
        },
        "harness_version": run.harness_version,
        "n_tasks": len(run.tasks),
    }


def _pair_rows(comparison: Comparison, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    runs = {run.label: run.recorded for run in comparison.runs}
    rows = []
    for pair in pairs:
        first, second = runs[pair.first], runs[pair.second]
        row = plain(pair)
        ends = row.pop("interval") or {"low": None, "high": None}
        row |= {"first_record": first.record, "second_record": second.record, "split": first.split}
        row |= {"first_subset": first.subset, "second_subset": second.subset}
        row |= {"ci_low": ends["low"], "ci_high": ends["high"]}
        rows.append(row | {"significant": pair.significant, "verdict": pair_verdict(pair)})
    return rows
