"""What is compared: a side is one recorded run, judged in one variant and sanitizer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from bigcodeflow.config import Sanitizer, Variant
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results import models
from bigcodeflow.results.comparison.reading import Reader, reader
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import STAGES, RecordedRun, find_run, titles

_VARIANTS = get_args(Variant)
_SANITIZERS = get_args(Sanitizer)
#: Counts of a task without a verdict.
_NOTHING = {"n_given": 0, "n_judged": 0, "n_passed": 0}


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """One task of a side: what it is, and how many of its samples were given, judged and passed."""

    task_id: str
    position: int
    test_sha256: str
    libs: tuple[str, ...]
    domains: tuple[str, ...]
    hard: bool
    prompt_characters: int
    n_given: int
    n_judged: int
    n_passed: int

    @property
    def share(self) -> float:
        """Share of the judged samples that pass; there must be one."""
        return self.n_passed / self.n_judged


@dataclass(frozen=True, slots=True)
class Side:
    """One run in one variant and sanitizer, with its tasks."""

    label: str
    """Its title, and what tells it apart from the other sides."""
    run: RecordedRun
    variant: str
    sanitizer: str
    backends: tuple[str, ...]
    environment_shas: tuple[str, ...]
    settings: Mapping[str, Any]
    """What the execution's manifest records: limits, harness_version; empty where there is no manifest."""
    tasks: Mapping[str, TaskCounts]
    """By task id, in the order of the dataset."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the run asked its model with."""
        return self.run.parameters

    @property
    def temperature(self) -> float | None:
        """The sampling temperature, where the run asked a model and sent one."""
        value = self.parameters.get("temperature")
        return float(value) if isinstance(value, int | float) else None


class Wanted(NamedTuple):
    """A run to compare, and in which of its variants and sanitizers."""

    run: RecordedRun
    label: str
    variant: str = "calibrated"
    sanitizer: str = ""
    """Empty takes what the run was judged with."""


def open_sides(
    store_root: Path | str, names: Sequence[str], *, variant: str = "calibrated", sanitizer: str = "", fewest: int = 2
) -> list[Side]:
    """The sides that a user names, each by a run's name, perhaps followed by ``@variant`` or ``@sanitizer`` or both.

    Args:
        store_root: the store with the recorded runs.
        names: such as ``gpt-4o``, ``gpt-4o@raw`` or ``gpt-4o@raw@robust``.
        variant: of the sides that do not name one.
        sanitizer: of the sides that do not name one; empty takes what the run was judged with.
        fewest: how many names there must be.

    Raises:
        ConfigError: fewer names, or two that mean the same.
        ArtifactError: a run that does not exist, was not judged so, or whose artifacts are gone.
    """
    if len(names) < fewest:
        raise ConfigError(f"compare: needs two runs or more, got {len(names)}: name them as `bigcodeflow compare A B`")
    sides = sides_of([_wanted(store_root, name, variant, sanitizer) for name in names])
    meant: dict[tuple[str, str, str], str] = {}
    for name, side in zip(names, sides, strict=True):
        identity = side.run.record, side.variant, side.sanitizer
        if identity in meant:
            raise ConfigError(
                f"compare: {meant[identity]} and {name} are the same run {side.run.record} ({side.variant}, "
                f"{side.sanitizer}): name different runs, records (as in runs/RECORD.json), or variants as in RUN@raw"
            )
        meant[identity] = name
    kinds = [
        [side.variant for side in sides],
        [side.sanitizer for side in sides],
        [", ".join(side.backends) for side in sides],
    ]
    labels = titles([side.run for side in sides], *kinds)
    return [replace(side, label=label) for side, label in zip(sides, labels, strict=True)]


def sides_of(wanted: Sequence[Wanted]) -> list[Side]:
    """The sides of runs that are at hand; a dataset that several share is read once.

    Raises:
        ArtifactError: a run was not judged so, or its artifacts are gone.
    """
    datasets: dict[tuple[Path, str], list[Row]] = {}
    sides = []
    with reader() as tables:
        for one in wanted:
            place = one.run.path("dataset"), one.run.split
            if place not in datasets:
                with tables.of(tasks=place[0]) as connection:
                    datasets[place] = models.rows_of(connection, "comparison_tasks", {"split": one.run.split})
            sides.append(_side(one, datasets[place], tables))
    return sides


def _side(wanted: Wanted, tasks: Sequence[Row], tables: Reader) -> Side:
    run = wanted.run
    with tables.of(verdicts=run.path("execution")) as connection:
        kind = _kind(models.rows_of(connection, "comparison_kinds"), run, wanted.variant, wanted.sanitizer)
        chosen = {"variant": wanted.variant, "sanitizer": kind["sanitizer"]}
        counted = {row["task_id"]: row for row in models.rows_of(connection, "comparison_counts", chosen)}
    return Side(
        label=wanted.label,
        run=run,
        variant=wanted.variant,
        sanitizer=kind["sanitizer"],
        backends=tuple(kind["backends"]),
        environment_shas=tuple(kind["environment_shas"]),
        settings=_manifest_settings(run),
        tasks={row["task_id"]: _task({**row, **counted.get(row["task_id"], _NOTHING)}) for row in tasks},
    )


def _wanted(store_root: Path | str, name: str, variant: str, sanitizer: str) -> Wanted:
    run_name, *chosen = _parted(name)
    run = find_run(store_root, run_name)
    variant = next((word for word in chosen if word in _VARIANTS), variant)
    sanitizer = next((word for word in chosen if word in _SANITIZERS), sanitizer)
    return Wanted(run, run.title, variant, sanitizer)


def _parted(name: str) -> list[str]:
    """Run and choices; an @ before anything else belongs to the run's name, as a model's revision may."""
    head, separator, last = name.rpartition("@")
    if separator and last in {*_VARIANTS, *_SANITIZERS}:
        return [*_parted(head), last]
    return [name]


def _kind(kinds: Sequence[Row], run: RecordedRun, variant: str, sanitizer: str) -> Row:
    fitting = [kind for kind in kinds if kind["variant"] == variant and sanitizer in ("", kind["sanitizer"])]
    preferred = run.config.get("sanitizing", {}).get("mode")
    fitting.sort(key=lambda kind: kind["sanitizer"] != preferred)
    if fitting:
        return fitting[0]
    there = "; ".join(f"{kind['variant']}, {kind['sanitizer']}" for kind in kinds) or "none"
    wanted = f"{variant}, {sanitizer}" if sanitizer else variant
    raise ArtifactError(
        f"run {run.record}: has no verdicts of {wanted}; it has: {there}. Choose with --variant and --sanitizer, or "
        "for one run as in RUN@raw"
    )


def _task(row: Row) -> TaskCounts:
    return TaskCounts(**{**row, "libs": tuple(row["libs"]), "domains": tuple(row["domains"])})


def _manifest_settings(run: RecordedRun) -> Mapping[str, Any]:
    """Empty where the manifest is gone: what cannot be known is then said to be unknown."""
    artifact = "execution"
    try:
        manifest = run.store.folder(STAGES[artifact], run.keys[artifact]) / "manifest.json"
        settings = json.loads(manifest.read_text()).get("settings", {})
    except (OSError, ValueError, AttributeError):
        return {}
    return settings if isinstance(settings, dict) else {}
