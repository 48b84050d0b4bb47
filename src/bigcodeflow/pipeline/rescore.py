"""Judge existing samples again: a file, a folder, or the samples of a recorded run under other settings."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from bigcodeflow.config import RunConfig, Sanitizer, Split, Subset, load_settings, read_preset
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.settings import NAME_PATTERN, SettingsModel, merged
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.stages import finished_artifact, stage_of
from bigcodeflow.results.runs import find_run


class RescoreConfig(SettingsModel):
    """Samples to judge again, and the settings that change."""

    samples: str = "starter"
    """Sample file (JSONL, JSONL.gz) or folder, 'starter', 'oracle', 'stub' or 'cheat'. Leave empty if `run` is
    set."""
    run: str = ""
    """Recorded run whose samples are judged, by record, run or model name; 'latest' takes the latest of all. The
    run's own settings apply, except those that other fields change."""
    preset: str = "starter"
    """Settings for a sample file: 'starter', 'bigcodebench' or a YAML file. A recorded run has its own settings."""
    split: Split | None = None
    """Prompts that the samples of a file answer: complete or instruct; if empty, the preset's split."""
    subset: Subset | None = None
    """'full' judges every task, 'hard' only BigCodeBench-Hard; if empty, the subset of the preset or run."""
    sanitizer: Sanitizer | None = None
    """Another sanitizer: parity, robust, fenced or none; if empty, the sanitizer of the preset or run."""
    environment: str = ""
    """Another sandbox environment, see `bigcodeflow env list`; if empty, the environment of the preset or run."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Any other settings by path, such as {"execution.limits.time_seconds": 60}."""
    name: str = Field(default="", max_length=200, pattern=NAME_PATTERN)
    """Name of the new run; if empty, the recorded run's name with '-rescored' appended, or the preset's name."""
    store: str = "results/store"
    """Folder for artifacts; a recorded run is looked up there."""
    out: str = ""
    """Folder for the result files; if empty, a new folder in results/runs."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        # The form's own default must not have to be cleared by whoever names a run.
        if not self.run and not self.samples:
            raise ValueError("give 'samples', such as a sample file, or 'run', the name of a recorded run")
        return self


def rescored(config: RescoreConfig) -> RunConfig:
    """Return the settings of a run that judges the samples again; raise ConfigError if it would have to ask a model."""
    if not config.run:
        settings, origin = read_preset(config.preset)
        judged = load_settings(_changed(settings, config, str(settings.get("name", "run"))), origin)
        if judged.samples.source == "model":
            raise ConfigError(
                "rescore asks no model, but generation.model names a model: leave it empty, or use `bigcodeflow run`"
            )
        return judged
    run = find_run(config.store, config.run)
    if run.imported:
        raise ConfigError(
            f"run {run.record} was imported, so its settings are not known: name the sample file that it was made from "
            "in `samples`"
        )
    changed = _changed(run.config, config.model_copy(update={"samples": ""}), f"{run.run}-rescored")
    again = load_settings(changed, f"run {run.record}")
    if again.samples.source != "model":
        return again
    # Judging again must cost nothing: a model's answers have to be in the store.
    resolved = Resolver(dry_run=True).up_to_sanitizing(again)
    store, dataset = resolved.store, finished_artifact(stage_of("dataset", resolved, {}), resolved.store)
    if dataset is None or finished_artifact(stage_of("generation", resolved, {"dataset": dataset}), store) is None:
        raise ConfigError(
            f"run {run.record}: its answers under these settings are not in {store.location} (tasks, split or "
            "request settings differ, or the artifact was deleted): `bigcodeflow run` asks for missing answers"
        )
    return again


def _changed(settings: Mapping[str, Any], config: RescoreConfig, name: str) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "dataset.split": config.split,
        "dataset.subset": config.subset,
        "samples.source": config.samples,
        "sanitizing.mode": config.sanitizer,
        "execution.environment": config.environment,
    }
    given = {path: value for path, value in changes.items() if value}
    # Other verdicts would make other feedback, to which no answer exists: only answers of round 1 are judged again.
    own = {"name": config.name or name, "store": config.store, "out": config.out, "generation.rounds": 1}
    return merged(merged(merged(settings, given, "rescore"), config.values, "rescore"), own, "rescore")
