"""Compare a run on original tasks with a run on their variants, task by task; settings of the second run."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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


class Counts(NamedTuple):
    """Numbers of samples of one task, without infrastructure errors."""

    judged: int
    passed: int


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
    settings = {"variant": variant}
    inputs = [original.execution, perturbed.execution]
    key = artifact_key(STUDY, VERSION, settings, [one.key for one in inputs])
    found = store.find(STUDY, key)
    if found is not None:
        return found
    _require_judged(store, (original, perturbed), variant)
    before = _counts(store, original, variant)
    after = _counts(store, perturbed, variant)
    rows = list(_rows(original.model, before, after))
    if not rows:
        raise ArtifactError(
            f"{perturbed.name}: has no judged variant of a task of {original.name}: judge a dataset that "
            "`bigcodeflow perturb write` made of its tasks"
        )
    title = f"{original.model}, {variant}"
    return publish_study(
        store, STUDY, key, rows, title=title, models=[original.model], settings=settings, inputs=inputs
    )


def _require_judged(store: Store, runs: Sequence[JudgedRun], variant: str) -> None:
    """Refuse a variant, raw or calibrated, of which one of the runs has no verdicts."""
    judged = [{row["variant"] for row in store.read(run.execution, ["variant"]).to_pylist()} for run in runs]
    shared = sorted(judged[0].intersection(*judged))
    remedy = f"choose --variant {shared[0]}" if shared else "judge both in one of them, with execution.variants"
    for run, has in zip(runs, judged, strict=True):
        if variant not in has:
            known = ", ".join(sorted(has)) or "none"
            raise ArtifactError(f"{run.name}: has no verdicts of {variant} solutions; it has: {known}: {remedy}")


def _counts(store: Store, run: JudgedRun, variant: str) -> dict[str, Counts]:
    """Count judged and passed samples by task id."""
    counted = defaultdict[str, list[bool]](list)
    for row in store.read(run.execution, ["task_id", "variant", "status"]).to_pylist():
        if row["variant"] == variant and row["status"] != "infra_error":
            counted[row["task_id"]].append(row["status"] == "pass")
    return {task_id: Counts(len(passed), sum(passed)) for task_id, passed in counted.items()}


def _rows(model: str, before: Mapping[str, Counts], after: Mapping[str, Counts]) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind and task with judged samples in both runs."""
    variants = defaultdict[tuple[str, str], dict[str, Counts]](dict)
    for task_id, counts in after.items():
        original, kind = original_of(task_id)
        if kind and original in before:
            variants[kind, original][task_id] = counts
    places = {task_id: place for place, task_id in enumerate(before)}
    for kind, task_id in sorted(variants, key=lambda one: (kind_order(one[0]), places[one[1]])):
        of_task = variants[kind, task_id]
        shares = {name: one.passed / one.judged for name, one in of_task.items()}
        yield {
            "model": model,
            "kind": kind,
            "task_id": task_id,
            "original_samples": before[task_id].judged,
            "original_passed": before[task_id].passed,
            "variants": len(of_task),
            "perturbed_samples": sum(one.judged for one in of_task.values()),
            "perturbed_passed": sum(one.passed for one in of_task.values()),
            "original_share": before[task_id].passed / before[task_id].judged,
            "perturbed_share": sum(shares.values()) / len(shares),
            "failed_variants": sorted(name for name, share in shares.items() if share < 1),
        }


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
