"""Tasks that all compared runs have, slices of these tasks, and notes on differences of the runs."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.comparison.run_selection import ComparedRun, TaskCounts
from bigcodeflow.results.runs import by_setting, split_mismatch

_MOST_NAMED = 5
_MANY_LIBRARIES = 5
_QUARTILES = ("1 (shortest)", "2", "3", "4 (longest)")


class By(StrEnum):
    """Property by which tasks are divided into slices."""

    domain = "domain"
    """Domain of the task; a task with several domains is in several slices."""
    library = "library"
    """Library of the task; a task with several libraries is in several slices."""
    libraries = "libraries"
    """Number of the task's libraries."""
    length = "length"
    """Quartile of the prompt's length in characters, among the compared tasks."""
    subset = "subset"
    """Subset: tasks of BigCodeBench-Hard, and all tasks that are not in it."""


class CommonTasks(NamedTuple):
    """Tasks that all runs have with the same test text, in the order of the first run's dataset."""

    task_ids: tuple[str, ...]
    notes: tuple[str, ...]
    """Sentences about tasks that were left out and about differences of the runs."""


def common_tasks(runs: Sequence[ComparedRun]) -> CommonTasks:
    """Return the tasks that all runs share; raise ArtifactError if benchmarks or splits differ, or no task remains."""
    first = runs[0]
    for run in runs[1:]:
        benchmarks = first.recorded.benchmark, run.recorded.benchmark
        if all(benchmarks) and len({*benchmarks}) > 1:
            raise ArtifactError(
                f"{first.label} answers tasks of {benchmarks[0]}, {run.label} of {benchmarks[1]}: compare runs of one "
                "benchmark"
            )
        if run.recorded.split != first.recorded.split:
            raise ArtifactError(
                f"{first.label} answers {first.recorded.split or 'unknown'} prompts, {run.label} "
                f"{run.recorded.split or 'unknown'} prompts: compare runs of one split"
            )
    everywhere = [task_id for task_id in first.tasks if all(task_id in run.tasks for run in runs)]
    same = tuple(task_id for task_id in everywhere if len({run.tasks[task_id].test_sha256 for run in runs}) == 1)
    reliable = tuple(task_id for task_id in same if not any(task_id in run.recorded.excluded for run in runs))
    if not same:
        sizes = ", ".join(f"{run.label} {len(run.tasks):,}" for run in runs)
        raise ArtifactError(
            f"the runs have no task in common, by id and test text (tasks: {sizes}): compare runs over the same dataset"
        )
    if not reliable:
        raise ArtifactError(
            "every task that the runs have in common is in quarantine, and at least one run does not score such tasks: "
            "score that run again with execution.quarantine=flag, which counts them"
        )
    notes = (*_left_out_notes(runs, everywhere, same, reliable), *_differences(runs))
    return CommonTasks(reliable, (*notes, *(note for run in runs for note in _own_notes(run))))


def left_out(runs: Sequence[ComparedRun], task_ids: Sequence[str], k: int) -> list[str]:
    """Return the ids of the tasks for which some run has fewer than k judged samples."""
    return [task_id for task_id in task_ids if any(run.tasks[task_id].n_judged < k for run in runs)]


def available_k(runs: Sequence[ComparedRun], task_ids: Sequence[str], wanted: Sequence[int]) -> list[int]:
    """Return the wanted k for which every run has k samples of every task; raise ArtifactError if no k remains."""
    fewest = min((run.tasks[task_id].n_given, run.label, task_id) for run in runs for task_id in task_ids)
    available = sorted({k for k in wanted if k <= fewest[0]})
    if not available:
        raise ArtifactError(
            f"pass@k cannot be compared for k in {', '.join(map(str, sorted(set(wanted))))}: {fewest[1]} has "
            f"{fewest[0]} samples of task {fewest[2]}: choose a smaller --k, or runs with more samples of each task"
        )
    return available


def slices_of(tasks: Sequence[TaskCounts], by: By) -> list[tuple[str, list[str]]]:
    """Divide the tasks by the property ``by``; return name and task ids of each slice, sorted by name."""
    if by is By.length:  # four parts whose sizes differ by at most 1; tasks of equal length are in dataset order
        ordered = sorted(tasks, key=lambda task: (task.prompt_characters, task.position))
        cuts = [len(ordered) * part // 4 for part in range(5)]
        parts = zip(_QUARTILES, cuts[:-1], cuts[1:], strict=True)
        return [(name, [task.task_id for task in ordered[low:high]]) for name, low, high in parts if high > low]
    parted: dict[str, list[str]] = {}
    for task in tasks:
        count = len(task.libs)
        names = {
            By.domain: task.domains,
            By.library: task.libs,
            By.libraries: (str(count) if count < _MANY_LIBRARIES else f"{_MANY_LIBRARIES} or more",),
            By.subset: ("hard" if task.hard else "not hard",),
        }[by]
        for name in names:
            parted.setdefault(name, []).append(task.task_id)
    return sorted(parted.items())


def named(task_ids: Sequence[str]) -> str:
    """Return the first few task ids as text, with the number of further ids."""
    rest = len(task_ids) - _MOST_NAMED
    return ", ".join(task_ids[:_MOST_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def _left_out_notes(
    runs: Sequence[ComparedRun], everywhere: Sequence[str], same: Sequence[str], reliable: Sequence[str]
) -> Iterator[str]:
    if lost := [run for run in runs if len(run.tasks) > len(everywhere)]:
        numbers = [f"{len(run.tasks) - len(everywhere):,}" for run in lost]
        yield (
            f"Compared on the {len(same):,} tasks that all runs have; left out, as not every run has them: "
            f"{_runs_by_value(lost, numbers)}."
        )
    alike, kept = frozenset(same), frozenset(reliable)
    if other := [task_id for task_id in everywhere if task_id not in alike]:
        yield (
            f"Left out, as their test text is not the same in all runs: {len(other):,} tasks ({named(other)}). The "
            "datasets are of different versions."
        )
    if quarantined := [task_id for task_id in same if task_id not in kept]:
        leaving = ", ".join(run.label for run in runs if run.recorded.excluded)
        yield (
            f"Left out for all runs, as {leaving} leaves them out of its score: {len(quarantined):,} quarantined tasks "
            f"({named(quarantined)})."
        )
    if suspects := [task_id for task_id in reliable if any(task_id in run.recorded.quarantined for run in runs)]:
        yield (
            f"{len(suspects):,} of the compared tasks are in quarantine ({named(suspects)}): their own solutions do "
            "not always pass, so that a difference on them may be chance."
        )


def _differences(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield notes on differences of the runs, other than the model, that may have changed the results."""
    judged = by_setting([run.recorded.judging for run in runs])
    traits: dict[str, Sequence[str | None]] = {
        "Warning: judged in different environments": [
            ", ".join(sha[:12] for sha in run.environment_shas) for run in runs
        ],
        "Warning: judged by different harness versions": [
            None if run.recorded.imported else str(run.harness_version or "unknown") for run in runs
        ],
        "Warning: judged on different backends": [", ".join(run.backends) for run in runs],
        **{f"Warning: judged with different settings, {name}": texts for name, texts in judged.items()},
        "The runs are of different subsets and are not ranked": [run.recorded.board for run in runs],
        "The runs differ in variant": [run.variant for run in runs],
        "The runs differ in sanitizer": [run.sanitizer for run in runs],
    }
    if len({run.recorded.model for run in runs}) > 1:  # for a single model, the titles show it
        asked = by_setting([run.recorded.parameters for run in runs], absent="default")
        traits |= {f"The models were asked with different settings, {name}": texts for name, texts in asked.items()}
    for title, values in traits.items():
        known = [(run, value) for run, value in zip(runs, values, strict=True) if value is not None]
        if len({value for _, value in known}) > 1:
            yield f"{title}: {_runs_by_value([run for run, _ in known], [value for _, value in known])}."
    if imported := [run.label for run in runs if run.recorded.imported]:
        yield f"Judged elsewhere, with limits and checks that are not known: {', '.join(imported)}."


def _runs_by_value(runs: Sequence[ComparedRun], values: Sequence[str]) -> str:
    """Return text with each run's value; if several runs share the most frequent value, call them 'the others'."""
    having: dict[str, list[str]] = {}
    for run, value in zip(runs, values, strict=True):
        having.setdefault(value, []).append(run.label)
    most = max(having, key=lambda value: len(having[value]))
    rest = [f"the others: {most}"] if len(having) > 1 and len(having[most]) > 1 else []
    parts = [f"{', '.join(labels)}: {value}" for value, labels in having.items() if not rest or value != most]
    return "; ".join([*parts, *rest])


def _own_notes(run: ComparedRun) -> Iterator[str]:
    if run.recorded.contradicted_tasks:
        yield f"Warning: {run.label}: its tasks show tests that contradict them; its numbers are no scores."
    if run.recorded.task_variants:
        yield f"Warning: {run.label}: its tasks are variants of others; its numbers are no scores of the benchmark."
    if mismatch := split_mismatch(run.recorded):
        yield f"Warning: {run.label}: {mismatch}; its numbers are not those of its split: run it again."
    if lost := sum(task.n_given - task.n_judged for task in run.tasks.values()):
        yield (
            f"Warning: {lost:,} samples of {run.label} were not judged for reasons outside the samples and count "
            "neither as passed nor as failed; its numbers are provisional: run it again to judge them."
        )
