"""What a sweep can be told: models, splits, subsets and settings, of which every combination is a run."""

import re
from pathlib import Path, PurePath
from typing import Any, Self

import yaml
from pydantic import Field, field_validator, model_validator

from bigcodeflow.config import Split, Subset
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.settings import NAME_PATTERN, SettingsModel, validated

_NAME_LENGTH = 120
_FOREIGN = re.compile(r"[^\w.\-+]+")
_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
_OWNER_AND_NAME = 2


class SweepModel(SettingsModel):
    """One model of a sweep: asked, or known by answers that exist."""

    model: str = Field(default="", examples=["openai:gpt-4o"])
    """PROVIDER:NAME of a model to ask, such as openai:gpt-4o. Leave empty where answers are given."""
    answers: str = Field(default="", examples=["oracle"])
    """Answers that exist: a sample file or folder, 'oracle', 'stub', 'cheat' or 'starter'. The words {split} and
    {subset} in a path are replaced. Leave empty where a model is given."""
    name: str = Field(default="", max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """What the model is called in names of runs; letters, digits and . _ - + only. Empty takes the model's or the
    file's own name."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Settings for this model alone, by their path, such as {"generation.sampling.max_tokens": 8192}."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if bool(self.model) == bool(self.answers):
            raise ValueError("give either 'model', such as openai:gpt-4o, or 'answers', such as a sample file")
        return self

    @property
    def label(self) -> str:
        """The name, as given or as the model or file has it."""
        return self.name or _label(self)


class SweepSetting(SettingsModel):
    """One setting of a sweep, tried with every model."""

    name: str = Field(min_length=1, max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """What the setting is called in names of runs; letters, digits and . _ - + only."""
    values: dict[str, Any] = Field(default_factory=dict)
    """What it sets, by path, such as {"sanitizing.mode": "robust"}."""


class SweepConfig(SettingsModel):
    """Models, splits, subsets and settings; every combination of them is a run of its own.

    Settings apply in this order, the later ones winning: preset, common, the model's, the setting's, overrides.
    """

    name: str = Field(default="starter", min_length=1, max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the sweep; letters, digits and . _ - + only."""
    preset: str = "starter"
    """Preset that every run begins with: 'starter', 'bigcodebench' or the path of a YAML file."""
    models: tuple[SweepModel, ...] = Field(
        default=(SweepModel(answers="oracle"), SweepModel(answers="stub")), min_length=1
    )
    """The models."""
    splits: tuple[Split, ...] = Field(default=("complete",), min_length=1)
    """'complete' prompts with a docstring, 'instruct' with prose."""
    subsets: tuple[Subset, ...] = Field(default=("full",), min_length=1)
    """'full' takes every task, 'hard' only BigCodeBench-Hard. Hard after full asks a model for nothing anew."""
    settings: tuple[SweepSetting, ...] = ()
    """Named settings, each tried with every model; empty tries the settings above alone. A generation parameter that is
    a list, such as {"generation.sampling.temperature": [0.2, 0.8]}, makes a run of each value anywhere."""
    common: dict[str, Any] = Field(default_factory=dict)
    """Settings of every run, by path, such as {"execution.workers": 8}."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Settings of every run that win over all others; what --set fills."""
    store: str = "results/store"
    """Folder for artifacts, shared by all runs: what is in there already is not done again."""
    out: str = ""
    """Folder for the sweep's table, with a folder for the files of each run; empty makes one of its own in
    results/sweeps, and what is reused keeps its files where they are."""

    @field_validator("splits", "subsets")
    @classmethod
    def _names_each_once(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(values)) != len(values):
            raise ValueError("names an entry more than once")
        return values


def load_sweep(file: str | Path, overrides: dict[str, Any] | None = None) -> SweepConfig:
    """Read a sweep.

    Args:
        file: a YAML file, or the name of a shipped sweep such as 'starter'.
        overrides: settings of every run that win over what the file says.

    Raises:
        ConfigError: one line for each problem, naming file, key, value and remedy.
    """
    path = _find(file)
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: holds no sweep: it must hold sections such as 'models:'")
    settings = {"name": path.stem, **settings}
    sweep: SweepConfig = validated(SweepConfig, settings, str(path))
    if not overrides:
        return sweep
    return sweep.model_copy(update={"overrides": {**sweep.overrides, **overrides}})


def _find(file: str | Path) -> Path:
    path = Path(file).expanduser()
    if path.exists() or path.suffix:
        return path
    known = sorted(found.stem for found in shipped("configs/sweeps").glob("*.yaml"))
    if str(file) not in known:
        raise ConfigError(f"sweep {str(file)!r} is neither a file nor one of: {', '.join(known)}")
    return shipped(f"configs/sweeps/{file}.yaml")


def _label(model: SweepModel) -> str:
    if model.answers:
        # What follows in the original's file names is the benchmark and the setting.
        name = _SUFFIX.sub("", PurePath(model.answers).name).partition("--bigcodebench")[0]
    else:
        name = model.model.partition(":")[2]
        parts = [part for part in name.split("/") if part]
        # A repository keeps its owner, as in the original's file names; a folder of this machine is known by its last.
        name = "--".join(parts) if len(parts) <= _OWNER_AND_NAME else parts[-1]
    return _FOREIGN.sub("-", name.replace("{", "").replace("}", "")).strip("-") or "model"
