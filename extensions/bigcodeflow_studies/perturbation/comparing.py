"""Make the settings of a run on variants, and compare it task by task with the run on the original tasks."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bigcodeflow.config import DatasetConfig, RunConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.settings import as_name
from bigcodeflow.pipeline.outputs import model_name
from bigcodeflow.results.comparison.run_selection import ComparedRun, RunRef, TaskCounts, load_runs
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow.store import ArtifactRef, Store, artifact_key
from bigcodeflow.studies.records import publish_study
from bigcodeflow_studies.perturbation import VERSION
from bigcodeflow_studies.perturbation.variants import kind_order, original_of

STUDY = "perturbation"
#: Values of samples.source that can answer any task: a model that is asked, and controls.
_ANSWERING = ("model", "oracle", "stub", "cheat")
_LONGEST_NAME = 180


def _require_same_question(original: RecordedRun, perturbed: RecordedRun) -> None:
    """Raise ArtifactError for runs of different models or splits: a gap in scores would have more than one cause.

    Runs of recorded answers may have different names, since names of sample files are not names of models.
    """
    asked = "model" in {run.config.get("samples", {}).get("source") for run in (original, perturbed)}
    names = [run.control or run.model for run in (original, perturbed)]
    controlled = any(run.control for run in (original, perturbed))
    for what, (one, other) in {"model": names, "split": [original.split, perturbed.split]}.items():
        if one != other and (what == "split" or asked or controlled):
            raise ArtifactError(
                f"{perturbed.title}: its {what} is {other}, that of {original.title} is {one}: "
                f"name two runs of the same {what}"
            )


def compare_runs(
    store: Store, original: RecordedRun, perturbed: RecordedRun, *, variant: str = "calibrated"
) -> ArtifactRef:
    """Publish the study ``perturbation``, one row of PERTURBATION for each kind and task; reuse a stored result.

    Raises:
        ArtifactError: the runs have different models or splits, the second run has no variant of a task of the first,
            or a run has no verdicts of ``variant``.
    """
    _require_same_question(original, perturbed)
    runs = load_runs([RunRef(run, run.title, variant) for run in (original, perturbed)])
    inputs = [ref for run in runs if (ref := store.find("execution", run.recorded.keys["execution"]))]
    settings = {"variant": variant}
    return publish_study(
        store,
        STUDY,
        artifact_key(STUDY, VERSION, settings, [one.key for one in inputs]),
        _rows(*runs),
        title=f"{original.model}, {variant}",
        models=[original.model],
        settings=settings,
        inputs=inputs,
    )


def _rows(original: ComparedRun, perturbed: ComparedRun) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind and task with judged samples in both runs."""
    before = {task_id: task for task_id, task in original.tasks.items() if task.n_judged}
    variants = defaultdict[tuple[str, str], list[TaskCounts]](list)
    for task_id, task in perturbed.tasks.items():
        of_task, kind = original_of(task_id)
        if kind and of_task in before and task.n_judged:
            variants[kind, of_task].append(task)
    if not variants:
        raise ArtifactError(
            f"{perturbed.label} has no judged variants of the tasks of {original.label}: run the model on a "
            "dataset that `bigcodeflow perturb write` made from these tasks"
        )
    for kind, task_id in sorted(variants, key=lambda one: (kind_order(one[0]), before[one[1]].position)):
        task, changed = before[task_id], variants[kind, task_id]
        yield {
            "model": original.recorded.model,
            "kind": kind,
            "task_id": task_id,
            "original_samples": task.n_judged,
            "original_passed": task.n_passed,
            "variants": len(changed),
            "perturbed_samples": sum(one.n_judged for one in changed),
            "perturbed_passed": sum(one.n_passed for one in changed),
            "original_share": task.share,
            "perturbed_share": sum(one.share for one in changed) / len(changed),
            "failed_variants": sorted(one.task_id for one in changed if one.share < 1),
        }


def require_answers(run: RunConfig) -> None:
    """Check, before anything is executed, that the run's samples can answer variants of the tasks too.

    Raises:
        ConfigError: ``run.samples.source`` is a file of recorded answers.
    """
    if run.samples.source not in _ANSWERING:
        raise ConfigError(
            f"samples.source {run.samples.source!r} has answers to the original tasks only: name a model, which can be "
            "asked about their variants, or compare two runs of your own with `bigcodeflow perturb compare`"
        )


def perturbed_run(run: RunConfig, dataset: Path) -> RunConfig:
    """Return the settings of ``run`` for ``dataset``, a file of variants, with another name and output folder."""
    name = model_name(run) if run.name == "run" else run.name
    changed = {
        "name": f"{as_name(name)[:_LONGEST_NAME]}-perturbed",
        "dataset": DatasetConfig(source=str(dataset), split=run.dataset.split),
        "out": f"{run.out.rstrip('/')}-perturbed" if run.out else "",
    }
    return run.model_copy(update=changed)
