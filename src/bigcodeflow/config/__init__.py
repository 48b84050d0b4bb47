"""One model for all that can be set for a run: the YAML presets, ``--set`` and the form in the Prefect UI fill it.

Its docstrings are what the form says.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

import yaml
from pydantic import Field, field_validator, model_validator

from bigcodeflow.config.execution import (
    ClusterConfig,
    E2BConfig,
    ExecutionConfig,
    LimitsConfig,
    Quarantine,
    ServiceConfig,
    Start,
    Variant,
)
from bigcodeflow.config.generation import GenerationConfig, OfflineConfig, PromptConfig, RequestsConfig, SamplingConfig
from bigcodeflow.core.difficulty import parse_difficulty
from bigcodeflow.core.errors import ConfigError, error_message
from bigcodeflow.core.paths import located, shipped, user_path
from bigcodeflow.core.plugins import benchmark_of
from bigcodeflow.core.settings import (
    NAME_PATTERN,
    SettingsModel,
    address,
    flattened,
    merged,
    section_of,
    set_by_path,
    validated,
)
from bigcodeflow.core.settings import Path as SettingPath

#: Names of the modules below; what this one defines is imported from it as well.
__all__ = ["ClusterConfig", "E2BConfig", "ExecutionConfig", "LimitsConfig", "ServiceConfig"]
__all__ += ["Quarantine", "Start", "Variant"]
__all__ += ["GenerationConfig", "OfflineConfig", "PromptConfig", "RequestsConfig", "SamplingConfig"]

Split = Literal["complete", "instruct"]
Subset = Literal["full", "hard"]
View = Literal["original", "verified"]
Sanitizer = Literal["none", "parity", "robust", "fenced"]
SafetyPolicy = Literal["off", "flag", "block"]


class DatasetConfig(SettingsModel):
    """Tasks to judge: dataset, split, subset and selection."""

    source: str = "starter"
    """'starter', a hub dataset such as 'bigcode/bigcodebench@v0.1.4', the path of a Parquet, JSONL or JSONL.gz file in
    the hub's schema, or a benchmark's plug-in such as 'evalplus/humanevalplus' or 'evalplus/humanevalplus=FILE'."""
    split: Split = "complete"
    """'complete' prompts with a docstring, 'instruct' with prose."""
    subset: Subset = "full"
    """'full' takes every task, 'hard' only BigCodeBench-Hard."""
    ids: str = ""
    """Task numbers or ids and ranges of numbers, such as '1,5-9,BigCodeBench/12'; empty takes all."""
    limit: int = Field(default=0, ge=0)
    """Number of tasks to take, the first of the selected; 0 takes all."""
    libraries: tuple[str, ...] = ()
    """Keep tasks that use at least one of these libraries; empty keeps all."""
    domains: tuple[str, ...] = ()
    """Keep tasks of at least one of these domains, such as 'Network'; empty keeps all."""
    difficulty: str = ""
    """Keep tasks that few or many published models solve: 'hard', 'medium', 'easy', or a range of solve rates such as
    '0-0.2'; empty keeps all."""
    released_after: str = Field(default="", pattern=r"^(\d{4}-\d\d-\d\d)?$")
    """Keep tasks of a benchmark with dates that were released on this day, such as '2024-08-01', or later; empty keeps
    all."""
    solve_rates: str = ""
    """Source of solve rates: a hub dataset such as 'bigcode/bigcodebench-solve-rate@complete', or a Parquet or
    JSONL file with task_id and solve_rate in percent; empty takes the shipped ones."""
    view: View = "original"
    """'original' takes the tasks as they are. 'verified' leaves out those whose test decides nothing, and takes the
    corrections of others, as the shipped errata say; see docs/verified.md."""
    overlay: str = ""
    """Parquet, JSONL or JSONL.gz file of corrections: rows with task_id and the columns that differ."""
    offline: bool = False
    """Use only what the hub cache already holds."""

    @field_validator("ids", mode="before")
    @classmethod
    def _one_number_is_a_choice_too(cls, ids: object) -> object:
        return str(ids) if isinstance(ids, int) and not isinstance(ids, bool) else ids

    @field_validator("difficulty")
    @classmethod
    def _difficulty_is_a_range(cls, difficulty: str) -> str:
        if difficulty:
            parse_difficulty(difficulty)
        return difficulty


class SamplesConfig(SettingsModel):
    """Answers to judge: from a model, a sample file or folder, or a built-in source."""

    source: str = "starter"
    """'model' (asks the model of the generation section), 'oracle' (canonical solutions), 'stub' (empty bodies),
    'cheat' (programs that attack the judge instead of solving the task), 'starter' (recorded answers of the starter
    set), or the path of a sample file (JSONL, JSONL.gz) or folder in the original's formats. A model that
    generation.model names is asked where this is left at 'starter'."""


class SanitizingConfig(SettingsModel):
    """Extraction of a program from each answer."""

    mode: Sanitizer = "parity"
    """'parity' does what the original does, 'robust' also keeps what the original loses, 'fenced' takes the last code
    block, 'none' executes what the sample file states as its solution."""
    safety_policy: SafetyPolicy = "flag"
    """'off' does not look, 'flag' records risky calls, 'block' fails a sample that makes them."""


class AggregationConfig(SettingsModel):
    """Scores to compute from the verdicts."""

    k: tuple[int, ...] = (1, 5, 10)
    """pass@k is reported for each k that every task has samples for."""

    @field_validator("k")
    @classmethod
    def _k_is_positive(cls, k: tuple[int, ...]) -> tuple[int, ...]:
        if not k or min(k) < 1:
            raise ValueError("needs positive whole numbers, such as [1, 5, 10]")
        return k


class RunConfig(SettingsModel):
    """Everything that can be set for one run of the pipeline."""

    name: str = Field(default="run", min_length=1, max_length=200, pattern=NAME_PATTERN)
    """Name of the run or the model; letters, digits and . _ - + only, and not only dots."""
    store: str = "results/store"
    """Folder for artifacts, or a URL such as s3://bucket/prefix; shared by all runs."""
    out: str = ""
    """Folder for the result files of this run, which must not hold those of another one; empty makes a folder of its
    own in results/runs."""
    dataset: DatasetConfig = DatasetConfig()
    """Tasks to judge: dataset, split, subset and selection."""
    samples: SamplesConfig = SamplesConfig()
    """Answers to judge: from a model, a sample file or folder, or a built-in source."""
    generation: GenerationConfig = GenerationConfig()
    """Model to ask, its prompt, sampling and requests."""
    sanitizing: SanitizingConfig = SanitizingConfig()
    """Extraction of a program from each answer."""
    execution: ExecutionConfig = ExecutionConfig()
    """Execution of the solutions: backend, workers, limits and variants."""
    aggregation: AggregationConfig = AggregationConfig()
    """Scores to compute from the verdicts."""

    @field_validator("store")
    @classmethod
    def _store_is_a_url_or_a_folder(cls, store: str) -> str:
        place = located(store)
        return address(place) if isinstance(place, str) else store

    @model_validator(mode="before")
    @classmethod
    def _a_named_model_is_asked(cls, given: Any) -> Any:
        # A form sends its defaults too: with 'starter' left there, the run would score recorded answers as the model's.
        if not isinstance(given, Mapping):
            return given
        source = _setting(given.get("samples"), "source")
        if not _setting(given.get("generation"), "model") or source not in (None, "starter"):
            return given
        rest = given.get("samples")
        return {**given, "samples": {**(rest if isinstance(rest, Mapping) else {}), "source": "model"}}

    @model_validator(mode="after")
    def _samples_fit_tasks_and_model(self) -> Self:
        if self.samples.source == "starter" and self.dataset.source != "starter":
            raise ValueError(
                "samples.source 'starter' answers only dataset.source 'starter': "
                "set samples.source to model, a sample file, oracle, stub or cheat"
            )
        if self.samples.source == "model" and not self.generation.model:
            raise ValueError("samples.source 'model' needs generation.model, such as openai:gpt-4o")
        return self


class EnvironmentCheckConfig(SettingsModel):
    """Environment to check, its tasks and repetitions."""

    environment: str = "starter"
    """Sandbox environment: 'starter' or 'bigcodebench', see `bigcodeflow env list`."""
    dataset: str = ""
    """Tasks whose ground truths are executed; empty takes the environment's own."""
    subset: Subset = "full"
    """'full' takes every task, 'hard' only BigCodeBench-Hard."""
    ids: str = ""
    """Only these task numbers or ids, such as '1,5-9'; empty takes all."""
    controls: bool = True
    """Judge a stub and a cheat for every task too, which must never pass."""
    repeat: int = Field(default=0, ge=0, le=1000)
    """Execute every ground truth so many times afresh, and put tasks that fail any of them in quarantine."""
    least_judgeable: float = Field(default=1.0, ge=0, le=1)
    """Share of the tasks that must be judgeable; below it the check fails. 1 forgives no task."""
    workers: int = Field(default=0, ge=0, le=1024)
    """Samples that compute at the same time; 0 takes one a core."""
    overrides: tuple[str, ...] = ()
    """Any other settings, such as 'execution.limits.time_seconds=60'."""
    store: str = "results/store"
    """Folder or URL (s3://bucket/prefix) of cached artifacts: what was executed is not executed again."""


def _setting(section: object, name: str) -> object:
    """Return the setting ``name`` of a section (a pydantic model or a mapping); None if the section lacks it."""
    return section.get(name) if isinstance(section, Mapping) else getattr(section, name, None)


def load_config(
    preset: str | Path | None = None,
    overrides: tuple[str, ...] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
    *,
    origin: str = "command line",
) -> RunConfig:
    """Read a preset; apply ``options`` (settings by path), then overrides such as 'execution.workers=4', in order.

    The preset is a YAML file, or the name of a shipped preset such as 'starter'; None takes the defaults. Messages
    about ``options`` name ``origin`` as their source.

    Raises:
        ConfigError: one line for each problem, naming file or override, key, value and remedy.
    """
    settings, source = read_preset(preset) if preset else ({}, origin if options else "defaults")
    origins = dict.fromkeys((path for path, _ in flattened(options)), origin)
    return load_settings(merged(settings, options, origin), source, overrides, origins)


def load_settings(
    settings: Mapping[str, Any],
    origin: str,
    overrides: tuple[str, ...] = (),
    origins: Mapping[SettingPath, str] = MappingProxyType({}),
) -> RunConfig:
    """Apply overrides such as 'execution.workers=4' to sections of settings, in order, and validate the result.

    Error messages name the source of a setting: ``origins`` gives it by path, and ``origin`` for all other paths.
    A single ConfigError lists all mistakes.
    """
    settings, origins = merged(settings, {}, origin), dict(origins)
    for override in overrides:
        path, value = parse_override(override)
        origins[path] = f"--set {override}"
        set_by_path(settings, path, value, origins[path])
    return validated(RunConfig, _with_benchmark(settings, origins), origin, origins)


def _with_benchmark(settings: dict[str, Any], chosen: Mapping[SettingPath, str]) -> dict[str, Any]:
    """Add the settings that a benchmark plug-in defines, if the dataset is of such a benchmark; return all settings.

    If ``chosen`` names the dataset, the plug-in's settings replace all but ``chosen``; else they fill only gaps.
    """
    source = _setting(settings.get("dataset"), "source")
    benchmark = benchmark_of(source) if isinstance(source, str) else None
    kept = chosen if ("dataset", "source") in chosen else dict(flattened(settings))
    for path, value in flattened(benchmark.settings) if benchmark else ():
        if path not in kept:
            set_by_path(settings, path, value, f"the benchmark {source}")
    return settings


def read_preset(preset: str | Path) -> tuple[dict[str, Any], str]:
    """Read a YAML file or a shipped preset; return its settings, not validated, and its path for messages."""
    settings, path = read_yaml("preset", preset, "configs")
    if not isinstance(settings, dict | None):
        raise ConfigError(f"{path}: holds a {type(settings).__name__}; it must hold sections such as 'dataset:'")
    return settings or {}, str(path)


def read_yaml(kind: str, name: str | Path, folder: str) -> tuple[object, Path]:
    """Read the YAML file ``name``, or the shipped file FOLDER/NAME.yaml; return its content and its path."""
    path: Path | None = None
    with suppress(ConfigError):  # no file can have such a name
        path = user_path(name)
    if path is None or (not path.exists() and not path.suffix):
        known = sorted(file.stem for file in shipped(folder).glob("*.yaml"))
        if str(name) not in known:
            raise ConfigError(f"{kind} {str(name)!r} is neither a file nor one of: {', '.join(known)}")
        path = shipped(f"{folder}/{name}.yaml")
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")), path
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error_message(error)}") from None


def parse_override(override: str) -> tuple[SettingPath, object]:
    """Parse ``a.b=c`` into path and value. The value is read as YAML; for str settings, unquoted values stay text."""
    key, separator, text = override.partition("=")
    path = tuple(key.strip().split("."))
    if not separator or not all(path):
        raise ConfigError(f"--set {override!r} is not of the form section.key=value, such as execution.workers=4")
    with suppress(KeyError):  # unknown settings are refused later
        is_text = section_of(RunConfig, path[:-1]).model_fields[path[-1]].annotation is str
        if is_text and not text.startswith(("'", '"')):  # YAML would end a path at " #"
            return path, text.strip()
    try:
        return path, yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override}: the value is not YAML: {error_message(error)}") from None
