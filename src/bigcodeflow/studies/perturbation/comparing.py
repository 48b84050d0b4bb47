"""Compare a run on original tasks with a run on their variants, task by task; settings of the second run."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.config import DatasetConfig, RunConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.schemas import STAGE_FOLDERS
from bigcodeflow.core.settings import as_name
from bigcodeflow.pipeline.outputs import model_name
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow.store import ArtifactRef, Store, artifact_key
from bigcodeflow.studies.perturbation import VERSION
from bigcodeflow.studies.perturbation.variants import kind_order, original_of
from bigcodeflow.studies.records import publish_study

STUDY = "perturbation"
#: Sources of samples that can answer any task.
_ANSWERING = ("model", "oracle", "stub", "cheat")
_LONGEST_NAME = 180


class JudgedRun(NamedTuple):
    """A run whose verdicts are compared."""

    name: str
    """Name of the run in messages."""
    model: str
    execution: ArtifactRef


def judged_run(store: Store, run: RecordedRun) -> JudgedRun:
    """Return a recorded run with its verdicts.

    Raises:
        ArtifactError: its verdicts are not in the store.
    """
    key = run.keys.get("execution", "")
    ref = store.find(STAGE_FOLDERS["execution"], key) if key else None
    if ref is None:
        raise ArtifactError(f"run {run.record}: its verdicts are not in {store.location}: run it again")
    return JudgedRun(run.title, run.model, ref)


def require_same_question(original: RecordedRun, perturbed: RecordedRun) -> None:
    """Refuse runs of different models or splits, since their gap would not come from the variants.

    Runs of recorded answers may have different names, since names of sample files are not names of models.

    Raises:
        ArtifactError: the runs have different models or splits.
    """
    asked = "model" in {run.config.get("samples", {}).get("source") for run in (original, perturbed)}
    names = [run.control or run.model for run in (original, perturbed)]
    controlled = any(run.control for run in (original, perturbed))
    for what, (one, other) in {"model": names, "split": [original.split, perturbed.split]}.items():
        if one != other and (what == "split" or asked or controlled):
            raise ArtifactError(
                f"{perturbed.title}: its {what} is {other}, that of {original.title} is {one}: "
                f"name two runs of one {what}"
            )


def compare_runs(
    store: Store, original: JudgedRun, perturbed: JudgedRun, *, variant: str = "calibrated"
) -> ArtifactRef:
    """Publish the study ``perturbation``, one row of PERTURBATION for each kind and task; reuse a stored result.

    Raises:
        ArtifactError: the second run has no variant of a task of the first, or a run has no verdicts of ``variant``.
    """
    settings, inputs = {"variant": variant}, [original.execution, perturbed.execution]
    return publish_study(
        store,
        STUDY,
        artifact_key(STUDY, VERSION, settings, [one.key for one in inputs]),
        _rows(store, original, perturbed, variant),
        title=f"{original.model}, {variant}",
        models=[original.model],
        settings=settings,
        inputs=inputs,
    )


def _rows(store: Store, original: JudgedRun, perturbed: JudgedRun, variant: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind and task with judged samples in both runs."""
    before, after = _passes(store, (original, perturbed), variant)
    variants = defaultdict[tuple[str, str], dict[str, list[bool]]](dict)
    for task_id, passes in after.items():
        of_task, kind = original_of(task_id)
        if kind and of_task in before:
            variants[kind, of_task][task_id] = passes
    if not variants:
        raise ArtifactError(
            f"{perturbed.name}: has no judged variant of a task of {original.name}: judge a dataset that "
            "`bigcodeflow perturb write` made of its tasks"
        )
    places = {task_id: place for place, task_id in enumerate(before)}
    for kind, task_id in sorted(variants, key=lambda one: (kind_order(one[0]), places[one[1]])):
        passed, changed = before[task_id], variants[kind, task_id]
        shares = {name: sum(passes) / len(passes) for name, passes in changed.items()}
        yield {
            "model": original.model,
            "kind": kind,
            "task_id": task_id,
            "original_samples": len(passed),
            "original_passed": sum(passed),
            "variants": len(changed),
            "perturbed_samples": sum(map(len, changed.values())),
            "perturbed_passed": sum(map(sum, changed.values())),
            "original_share": sum(passed) / len(passed),
            "perturbed_share": sum(shares.values()) / len(shares),
            "failed_variants": sorted(name for name, share in shares.items() if share < 1),
        }


def _passes(store: Store, runs: Sequence[JudgedRun], variant: str) -> list[dict[str, list[bool]]]:
    """Tell for each run which judged samples passed, by task id; refuse a variant of which one run has no verdicts."""
    tables = [store.read(run.execution, ["task_id", "variant", "status"]).to_pylist() for run in runs]
    judged = [{row["variant"] for row in rows} for rows in tables]
    shared = sorted(judged[0].intersection(*judged))
    remedy = f"choose --variant {shared[0]}" if shared else "judge both in one of them, with execution.variants"
    found = list[dict[str, list[bool]]]()
    for run, has, rows in zip(runs, judged, tables, strict=True):
        if variant not in has:
            known = ", ".join(sorted(has)) or "none"
            raise ArtifactError(f"{run.name}: has no verdicts of {variant} solutions; it has: {known}: {remedy}")
        passes = defaultdict[str, list[bool]](list)
        for row in rows:
            if row["variant"] == variant and row["status"] != "infra_error":
                passes[row["task_id"]].append(row["status"] == "pass")
        found.append(passes)
    return found


def require_answers(run: RunConfig) -> None:
    """Refuse samples that answer only the original tasks, before anything is executed.

    Raises:
        ConfigError: the samples are recorded.
    """
    if run.samples.source not in _ANSWERING:
        raise ConfigError(
            f"samples.source {run.samples.source!r} answers the original tasks alone: name a model, whose answers to "
            "their variants can be had, or ask it yourself and use `bigcodeflow perturb compare`"
        )


def perturbed_run(run: RunConfig, dataset: Path) -> RunConfig:
    """Return the settings for a run on a file of variants, with another name and output folder."""
    name = model_name(run) if run.name == "run" else run.name
    changed = {
        "name": f"{as_name(name)[:_LONGEST_NAME]}-perturbed",
        "dataset": DatasetConfig(source=str(dataset), split=run.dataset.split),
        "out": f"{run.out.rstrip('/')}-perturbed" if run.out else "",
    }
    return run.model_copy(update=changed)
