"""Selection of runs to compare: recorded runs, each with a variant, a sanitizer and counts for each task."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Self, get_args

from bigcodeflow.config import Sanitizer, Variant
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results.models import Row, rows_of, sources
from bigcodeflow.results.runs import RecordedRun, find_run, judge_of, titles

#: Counts of a task without a verdict.
_NOTHING = {"n_given": 0, "n_judged": 0, "n_passed": 0}


class TaskCounts(NamedTuple):
    """Properties of a task, and the numbers of a run's samples of this task: given, judged and passed."""

    task_id: str
    position: int
    test_sha256: str
    libs: Sequence[str]
    domains: Sequence[str]
    hard: bool
    prompt_characters: int
    n_given: int
    n_judged: int
    n_passed: int

    @property
    def share(self) -> float:
        """Share of the judged samples that pass; raises ZeroDivisionError without judged samples."""
        return self.n_passed / self.n_judged


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run to compare, with the verdicts of one variant and sanitizer counted for each task."""

    label: str
    """Title of the run, with the details that distinguish it from the other runs."""
    recorded: RecordedRun = field(compare=False)  # its store is not comparable
    variant: str
    sanitizer: str
    backends: tuple[str, ...]
    environment_shas: tuple[str, ...]
    harness_version: int | None
    """Version of the judge, from the execution's manifest; None if it is not known."""
    tasks: Mapping[str, TaskCounts]
    """Counts by task id, in the order of the dataset."""

    def on_tasks(self, task_ids: Collection[str]) -> Self:
        """Return a copy of the run that has only the tasks in ``task_ids``."""
        return replace(self, tasks={name: one for name, one in self.tasks.items() if name in task_ids})

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None if the run asked no model or sent no temperature."""
        value = self.recorded.parameters.get("temperature")
        return float(value) if isinstance(value, int | float) else None


class RunRef(NamedTuple):
    """A run to compare, with the chosen variant and sanitizer."""

    run: RecordedRun
    label: str
    variant: str = "calibrated"
    sanitizer: str = ""
    """Name of the sanitizer; empty selects the sanitizer that the run was judged with."""


def open_runs(
    store_root: Path | str, names: Sequence[str], *, variant: str = "calibrated", sanitizer: str = "", fewest: int = 2
) -> list[ComparedRun]:
    """Open the runs that a user names; variant and sanitizer may follow a name, as in ``gpt-4o@raw@robust``.

    ``variant`` and ``sanitizer`` are the defaults for names without these parts; an empty sanitizer selects the
    sanitizer that the run was judged with. Raises ConfigError for fewer names than ``fewest`` or a run named twice.
    """
    if len(names) < fewest:
        raise ConfigError(f"compare: needs two runs or more, got {len(names)}: name them as `bigcodeflow compare A B`")
    runs = load_runs([_run_ref(store_root, name, variant, sanitizer) for name in names])
    seen: dict[tuple[str, str, str], str] = {}
    for name, run in zip(names, runs, strict=True):
        identity = run.recorded.record, run.variant, run.sanitizer
        if identity in seen:
            raise ConfigError(
                f"compare: {seen[identity]} and {name} are the same run {run.recorded.record} ({run.variant}, "
                f"{run.sanitizer}): name two runs, two records (as in runs/RECORD.json), or variants as in RUN@raw"
            )
        seen[identity] = name
    kinds = [[run.variant for run in runs], [run.sanitizer for run in runs], [", ".join(run.backends) for run in runs]]
    labels = titles([run.recorded for run in runs], *kinds)
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


def load_runs(refs: Sequence[RunRef]) -> list[ComparedRun]:
    """Read the tables of the runs in ``refs``; a dataset that several runs share is read only once."""
    datasets: dict[tuple[Path, str], list[Row]] = {}
    return [_load(ref, datasets) for ref in refs]


def _load(ref: RunRef, datasets: dict[tuple[Path, str], list[Row]]) -> ComparedRun:
    """Read the tables of a run; ``datasets`` caches the rows of tasks that several runs share."""
    place = ref.run.path("dataset"), ref.run.split
    with sources(tasks=place[0], verdicts=ref.run.path("execution")) as connection:
        if place not in datasets:
            datasets[place] = rows_of(connection, "comparison_tasks", {"split": ref.run.split})
        kind = _kind(rows_of(connection, "comparison_kinds"), ref)
        chosen = {"variant": ref.variant, "sanitizer": kind["sanitizer"]}
        counted = {row["task_id"]: row for row in rows_of(connection, "comparison_counts", chosen)}
    return ComparedRun(
        label=ref.label,
        recorded=ref.run,
        variant=ref.variant,
        sanitizer=kind["sanitizer"],
        backends=tuple(kind["backends"]),
        environment_shas=tuple(kind["environment_shas"]),
        harness_version=judge_of(ref.run).harness_version,
        tasks={row["task_id"]: TaskCounts(**row | counted.get(row["task_id"], _NOTHING)) for row in datasets[place]},
    )


def _run_ref(store_root: Path | str, name: str, variant: str, sanitizer: str) -> RunRef:
    """Find the run of NAME[@VARIANT][@SANITIZER]; an @ before other text, such as a revision, is part of the name."""
    head, separator, last = name.rpartition("@")
    if separator and last in get_args(Variant):
        return _run_ref(store_root, head, last, sanitizer)
    if separator and last in get_args(Sanitizer):
        return _run_ref(store_root, head, variant, last)
    run = find_run(store_root, name)
    return RunRef(run, run.title, variant, sanitizer)


def _kind(kinds: Sequence[Row], ref: RunRef) -> Row:
    """Return the row of ``kinds`` (variants and sanitizers of the run's verdicts) that ``ref`` selects.

    If several rows fit, take the row of the run's configured sanitizer; raise ArtifactError if no row fits.
    """
    preferred = ref.run.config.get("sanitizing", {}).get("mode")
    fitting = [kind for kind in kinds if kind["variant"] == ref.variant and ref.sanitizer in ("", kind["sanitizer"])]
    if fitting:
        return min(fitting, key=lambda kind: kind["sanitizer"] != preferred)
    known = "; ".join(f"{kind['variant']}, {kind['sanitizer']}" for kind in kinds) or "none"
    wanted = f"{ref.variant}, {ref.sanitizer}" if ref.sanitizer else ref.variant
    raise ArtifactError(
        f"run {ref.run.record}: has no verdicts of {wanted}; it has: {known}. Choose with --variant and --sanitizer, "
        "or write variant or sanitizer after the run's name, as in RUN@raw"
    )
