"""Settings of the second run: those of the first run, on a dataset of variants of its tasks."""

from pathlib import Path

from bigcodeflow.config import DatasetConfig, RunConfig
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.settings import as_name
from bigcodeflow.pipeline.outputs import model_name

#: Sources of samples that can answer any task.
_ANSWERING = ("model", "oracle", "stub", "cheat")
_LONGEST_NAME = 180


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
