"""One model for everything that a run can be told: the YAML presets, ``--set`` and the form in the Prefect UI."""

from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bigcodeflow.errors import ConfigError
from bigcodeflow.resources import shipped

Split = Literal["complete", "instruct"]
Subset = Literal["full", "hard"]
Sanitizer = Literal["none", "parity", "robust"]
Variant = Literal["calibrated", "raw"]
SafetyPolicy = Literal["off", "flag", "block"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True)


class DatasetConfig(_Section):
    """Which tasks are judged."""

    source: str = "starter"
    """'starter', a hub dataset such as 'bigcode/bigcodebench@v0.1.4', or the path of a Parquet, JSONL or JSONL.gz file
    in the hub's schema."""
    split: Split = "complete"
    """'complete' prompts with a docstring, 'instruct' with prose."""
    subset: Subset = "full"
    """'full' takes every task, 'hard' only BigCodeBench-Hard."""
    ids: str = ""
    """Task numbers or ids and ranges of numbers, such as '1,5-9,BigCodeBench/12'; empty takes all."""
    libraries: tuple[str, ...] = ()
    """Keep tasks that use at least one of these libraries; empty keeps all."""
    domains: tuple[str, ...] = ()
    """Keep tasks of at least one of these domains, such as 'Network'; empty keeps all."""
    offline: bool = False
    """Use only what the hub cache already holds."""


class SamplesConfig(_Section):
    """Where the answers come from."""

    source: str = "starter"
    """'oracle' (canonical solutions), 'stub' (empty bodies), 'starter' (recorded answers of the starter set), or the
    path of a sample file (JSONL, JSONL.gz) or folder in the original's formats."""


class SanitizingConfig(_Section):
    """How a program is taken out of an answer."""

    mode: Sanitizer = "parity"
    """'parity' does what the original does, 'robust' also keeps what the original loses, 'none' executes what the
    sample file states as its solution."""
    safety_policy: SafetyPolicy = "flag"
    """'off' does not look, 'flag' records risky calls, 'block' fails a sample that makes them."""


class LimitsConfig(_Section):
    """What one sample may use. The defaults are the original evaluator's."""

    time_seconds: float = Field(default=240.0, gt=0, le=86_400)
    """Wall and CPU seconds for a whole sample; raised to the ground truth's own time where that is longer."""
    memory_mib: int = Field(default=4096, ge=64, le=1_048_576)
    """Resident memory of all processes of a sample, in MiB. The original bounds address space only."""
    address_space_mib: int = Field(default=30 * 1024, ge=256, le=1_048_576)
    """Address space and data of each process, in MiB."""
    processes: int = Field(default=512, ge=8, le=32_768)
    """Processes and threads that a sample may have at once."""
    disk_mib: int = Field(default=1024, ge=1, le=1_048_576)
    """Size of the temporary folder, the only writable place, in MiB."""
    output_kib: int = Field(default=64, ge=1, le=65_536)
    """Tail of standard output and of standard error that is kept, in KiB each."""


class ExecutionConfig(_Section):
    """Where and how solutions are executed."""

    backend: Literal["local"] = "local"
    """'local' runs bubblewrap sandboxes on the Dask workers."""
    environment: str = "starter"
    """Name of the sandbox environment: 'starter' or 'bigcodebench', see `bigcodeflow env list`."""
    variants: tuple[Variant, ...] = ("calibrated",)
    """'calibrated' puts code_prompt in front of the solution, 'raw' runs it alone; both give both scores."""
    limits: LimitsConfig = LimitsConfig()
    """What one sample may use."""
    workers: int = Field(default=0, ge=0, le=1024)
    """Dask worker processes; 0 takes one a core."""
    slots_per_worker: int = Field(default=3, ge=1, le=64)
    """Samples that one worker runs at once; sleeping tests then do not hold a core."""
    scheduler_address: str = ""
    """Dask scheduler to use, such as 'tcp://127.0.0.1:8786'; empty starts a local cluster."""
    allow_unisolated: bool = False
    """Run without bubblewrap where it is missing. Generated code can then harm this machine."""

    @field_validator("variants")
    @classmethod
    def _has_a_variant(cls, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        if not variants or len(set(variants)) != len(variants):
            raise ValueError("needs one or two different entries of: calibrated, raw")
        return variants


class AggregationConfig(_Section):
    """What is computed from the verdicts."""

    k: tuple[int, ...] = (1, 5, 10)
    """pass@k is reported for each k that every task has samples for."""

    @field_validator("k")
    @classmethod
    def _k_is_positive(cls, k: tuple[int, ...]) -> tuple[int, ...]:
        if not k or min(k) < 1:
            raise ValueError("needs positive whole numbers, such as [1, 5, 10]")
        return k


class RunConfig(_Section):
    """Everything that one run of the pipeline can be told."""

    name: str = Field(default="run", pattern=r"^[\w.\-+]{1,200}$")
    """Name of the run or the model; letters, digits and . _ - + only."""
    store: str = "results/store"
    """Folder for artifacts, shared by all runs."""
    out: str = "results/latest"
    """Folder for the result files of this run."""
    dataset: DatasetConfig = DatasetConfig()
    """Which tasks are judged."""
    samples: SamplesConfig = SamplesConfig()
    """Where the answers come from."""
    sanitizing: SanitizingConfig = SanitizingConfig()
    """How a program is taken out of an answer."""
    execution: ExecutionConfig = ExecutionConfig()
    """Where and how solutions are executed."""
    aggregation: AggregationConfig = AggregationConfig()
    """What is computed from the verdicts."""

    @model_validator(mode="after")
    def _starter_answers_need_starter_tasks(self) -> Self:
        if self.samples.source == "starter" and self.dataset.source != "starter":
            raise ValueError(
                "samples.source 'starter' answers only dataset.source 'starter': "
                "set samples.source to a sample file, oracle or stub"
            )
        return self


def load_config(preset: str | Path | None = None, overrides: tuple[str, ...] = ()) -> RunConfig:
    """Read a preset and apply ``a.b=c`` overrides, whose values are read as YAML.

    Args:
        preset: a YAML file, or the name of a shipped preset such as 'starter'; None takes the defaults.
        overrides: settings such as 'execution.workers=4', applied in order.

    Raises:
        ConfigError: one line for each problem, naming file or override, key, value and remedy.
    """
    settings, origin = _read_preset(preset) if preset else ({}, "defaults")
    return load_settings(settings, origin, overrides)


def load_settings(settings: dict[str, Any], origin: str, overrides: tuple[str, ...] = ()) -> RunConfig:
    """Check settings that came from somewhere else, with overrides applied on top.

    Args:
        settings: sections and their values; changed in place.
        origin: where they came from, for messages.
        overrides: settings such as 'execution.workers=4', applied in order.

    Raises:
        ConfigError: one line for each problem, naming origin or override, key, value and remedy.
    """
    sources: dict[tuple[str, ...], str] = {}
    for override in overrides:
        path = _apply(settings, override)
        sources[path] = f"--set {override}"
    try:
        return RunConfig.model_validate(settings)
    except ValidationError as error:
        raise ConfigError("\n".join(_problem(item, sources, origin) for item in error.errors())) from None


def _read_preset(preset: str | Path) -> tuple[dict[str, Any], str]:
    path = Path(preset)
    if not path.exists() and not path.suffix:
        known = sorted(file.stem for file in shipped("configs").glob("*.yaml"))
        if str(preset) not in known:
            raise ConfigError(f"preset {preset!r} is neither a file nor one of: {', '.join(known)}")
        path = shipped(f"configs/{preset}.yaml")
    try:
        settings = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if settings is None:
        settings = {}
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: holds a {type(settings).__name__}; it must hold sections such as 'dataset:'")
    return settings, str(path)


def _apply(settings: dict[str, Any], override: str) -> tuple[str, ...]:
    key, separator, text = override.partition("=")
    path = tuple(key.strip().split("."))
    if not separator or not all(path):
        raise ConfigError(f"--set {override!r} is not of the form section.key=value, such as execution.workers=4")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override}: the value is not YAML: {' '.join(str(error).split())}") from None
    place = settings
    for part in path[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise ConfigError(f"--set {override}: {part} is a value, not a section")
    place[path[-1]] = value
    return path


def _problem(item: Any, sources: dict[tuple[str, ...], str], origin: str) -> str:
    location = tuple(str(part) for part in item["loc"])
    where = next((text for path, text in sources.items() if location[: len(path)] == path), origin)
    key = ".".join(location) or "settings"
    if item["type"] == "extra_forbidden":
        return f"{where}: {key} is not a setting; known here: {', '.join(_known_keys(location[:-1]))}"
    message = item["msg"].removeprefix("Value error, ")
    given = f" (given: {item['input']!r})" if location and not isinstance(item["input"], BaseModel | dict) else ""
    return f"{where}: {key}: {message}{given}"


def _known_keys(section: tuple[str, ...]) -> list[str]:
    model: Any = RunConfig
    for part in section:
        model = model.model_fields[part].annotation
    return list(model.model_fields)
