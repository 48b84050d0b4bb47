"""Sweeps: every combination of models, benchmarks, splits, subsets and settings is a run with its own name."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from bigcodeflow.config import RunConfig, Split, Subset, load_settings, read_preset, read_yaml
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.plugins import benchmark_of, shown_benchmark
from bigcodeflow.core.settings import NAME_PATTERN, SettingsModel, as_name, flattened, merged, validated
from bigcodeflow.generation import expand_grid
from bigcodeflow.results.formatting import title_of

_NAME_LENGTH = 120
_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
_OWNER_AND_NAME = 2
#: Settings that the sweep itself sets for each run, with the field of the sweep that sets them.
_OWN = {
    "name": "name",
    "store": "store",
    "out": "out",
    "dataset.split": "splits",
    "dataset.subset": "subsets",
    "samples.source": "models",
    "generation.model": "models",
}
_LONGEST_NAME = 200
#: Origin of settings in messages until their actual origin is known.
_ORIGIN = "settings"


_FULL: tuple[Subset, ...] = ("full",)


class SweepModel(SettingsModel):
    """Model of a sweep: a model to ask, or existing answers."""

    model: str = Field(default="", examples=["openai:gpt-4o"])
    """PROVIDER:NAME of a model to ask, such as openai:gpt-4o. Leave empty if answers are given."""
    answers: str = Field(default="", examples=["oracle"])
    """Existing answers: a sample file or folder, 'oracle', 'stub', 'cheat' or 'starter'. The words {benchmark},
    {split} and {subset} in a path are replaced. Leave empty if a model is given."""
    name: str = Field(default="", max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the model in names of runs; letters, digits and . _ - + only. If empty, the name of the model
    or of the file."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Settings for this model alone, by their path, such as {"generation.sampling.max_tokens": 8192}."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if bool(self.model) == bool(self.answers):
            raise ValueError("give either 'model', such as openai:gpt-4o, or 'answers', such as a sample file")
        return self

    @property
    def label(self) -> str:
        """Part of run names that names the model: the given name, or a name made from the model or the file."""
        if self.name:
            return self.name
        if self.answers:
            # The rest of the original's file names is the benchmark and the setting.
            name = _SUFFIX.sub("", PurePath(self.answers).name).partition("--bigcodebench")[0]
        else:
            parts = [part for part in self.model.partition(":")[2].split("/") if part]
            # A repository keeps its owner, as in the original's file names; a local folder is named by its last part.
            name = "--".join(parts) if len(parts) <= _OWNER_AND_NAME else parts[-1]
        return as_name(name.replace("{", "").replace("}", "")) or "model"


class SweepBenchmark(SettingsModel):
    """Benchmark of a sweep: its tasks, splits and subsets."""

    source: str = Field(default="", examples=["evalplus/humanevalplus"])
    """Tasks of the benchmark, as in dataset.source; if empty, the tasks of the preset."""
    name: str = Field(default="", max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the benchmark in names of runs; letters, digits and . _ - + only. If empty, the name of the
    dataset or plug-in; runs of BigCodeBench and the starter set then name no benchmark."""
    splits: tuple[Split, ...] = ()
    """Splits of the benchmark; if empty, the plug-in's split, or the sweep's for BigCodeBench and the starter set."""
    subsets: tuple[Subset, ...] = ()
    """Subsets of the benchmark; if empty, 'full', or the sweep's for BigCodeBench and the starter set."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Settings for this benchmark alone, by path, such as {"dataset.released_after": "2024-08-01"}."""

    @property
    def label(self) -> str:
        """Part of run names that names the benchmark; empty for BigCodeBench, starter set and unnamed task files."""
        return self.name or as_name(shown_benchmark(self.source))

    def views(self, sweep: "SweepConfig") -> Iterator[tuple[Split, Subset]]:
        """Return all pairs of split and subset to judge; if not set here, they come from the plug-in or ``sweep``."""
        is_other, plugin = bool(shown_benchmark(self.source)), benchmark_of(self.source)
        own: Split = dict(flattened(plugin.settings if plugin else {})).get(("dataset", "split"), "complete")
        splits = self.splits or ((own,) if is_other else sweep.splits)
        subsets = self.subsets or (_FULL if is_other else sweep.subsets)
        return itertools.product(splits, subsets)


class SweepSetting(SettingsModel):
    """Named group of settings of a sweep, tried with every model."""

    name: str = Field(min_length=1, max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the setting in names of runs; letters, digits and . _ - + only."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Settings by path, such as {"sanitizing.mode": "robust"}."""


class SweepConfig(SettingsModel):
    """Models, benchmarks, splits, subsets and settings of a sweep; every combination is a separate run.

    Settings apply in this order, and later settings override earlier settings: preset, benchmark plug-in, common,
    benchmark, model, setting, overrides.
    """

    name: str = Field(default="starter", min_length=1, max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the sweep; letters, digits and . _ - + only."""
    preset: str = "starter"
    """Preset that every run begins with: 'starter', 'bigcodebench' or the path of a YAML file."""
    models: tuple[SweepModel, ...] = Field(
        default=(SweepModel(answers="oracle"), SweepModel(answers="stub")), min_length=1
    )
    """Models to ask, and existing answers to judge."""
    benchmarks: tuple[SweepBenchmark, ...] = Field(default=(SweepBenchmark(),), min_length=1)
    """Benchmarks, each with its own splits and subsets; an entry without fields is the preset's benchmark."""
    splits: tuple[Split, ...] = Field(default=("complete",), min_length=1)
    """'complete' prompts with a docstring, 'instruct' with prose."""
    subsets: tuple[Subset, ...] = Field(default=("full",), min_length=1)
    """'full' takes every task, 'hard' only BigCodeBench-Hard. Answers for 'full' are reused for 'hard'."""
    settings: tuple[SweepSetting, ...] = ()
    """Named groups of settings, each tried with every model. In any group, a generation parameter that is a list, such
    as {"generation.sampling.temperature": [0.2, 0.8]}, makes a run for each value."""
    common: dict[str, Any] = Field(default_factory=dict)
    """Settings of every run, by path, such as {"execution.workers": 8}."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Settings of every run that override all other settings; the option --set fills them."""
    store: str = "results/store"
    """Folder for artifacts, shared by all runs; stages whose artifacts it already holds are reused."""
    out: str = ""
    """Folder for the sweep's table and a subfolder for the files of each run; if empty, a new folder in
    results/sweeps, and reused runs keep their old folders."""

    @field_validator("splits", "subsets")
    @classmethod
    def _names_each_once(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(values)) != len(values):
            raise ValueError("names an entry more than once: remove the repeated entry")
        return values


def load_sweep(file: str | Path, overrides: dict[str, Any] | None = None) -> SweepConfig:
    """Read a sweep from a YAML file, or a shipped sweep by name; ``overrides`` replace settings of the file."""
    settings, path = read_yaml("sweep", file, "configs/sweeps")
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: holds no sweep: it must hold sections such as 'models:'")
    sweep = validated(SweepConfig, {"name": path.stem, **settings}, str(path))
    return sweep.model_copy(update={"overrides": {**sweep.overrides, **(overrides or {})}})


_Choice = tuple[SweepModel, SweepSetting | None, SweepBenchmark, tuple[Split, Subset]]


class Member(NamedTuple):
    """Run of a sweep, with its complete settings."""

    name: str
    """Name of the run, unique within the sweep."""
    model: str
    setting: str
    """Name of the setting, and the values that are chosen from lists; empty if the sweep has neither."""
    config: RunConfig

    @property
    def title(self) -> str:
        """Title for displays: model, benchmark, subset, split and setting."""
        view = self.config.dataset
        return title_of(self.model, view.subset, view.split, self.setting, benchmark=shown_benchmark(view.source))


def members_of(sweep: SweepConfig) -> tuple[Member, ...]:
    """Return every run of the sweep; raise a single ConfigError that lists the mistakes in the settings of all runs."""
    preset, _ = read_preset(sweep.preset)
    found: list[Member] = []
    problems: dict[str, list[str]] = {}
    choices: list[_Choice] = [
        (model, setting, benchmark, view)
        for benchmark in sweep.benchmarks
        for model, setting in itertools.product(sweep.models, sweep.settings or (None,))
        for view in benchmark.views(sweep)
    ]
    for choice in choices:
        model, setting, benchmark, _ = choice
        named = [("model", model.label), ("setting", setting and setting.name), ("benchmark", benchmark.label)]
        who = ", ".join(f"{kind} {name}" for kind, name in named if name)
        try:
            found += _members(sweep, preset, choice)
        except ConfigError as error:
            for line in str(error).splitlines():
                problems.setdefault(line.removeprefix(f"{_ORIGIN}: "), []).append(who)
    lines = []
    for problem, whom in problems.items():
        # A mistake in settings that all runs share is reported once.
        concerned = "" if len(whom) == len(choices) else ", " + " and ".join(dict.fromkeys(whom))
        lines.append(f"sweep {sweep.name}{concerned}: {problem}")
    counts = Counter(member.name.casefold() for member in found)  # each is a folder too
    for name in dict.fromkeys(member.name for member in found):
        if (count := counts[name.casefold()]) > 1:
            remedy = "give its models, benchmarks and settings different names"
            lines.append(f"sweep {sweep.name}: {count} of its runs are called {name!r}: {remedy}")
    if lines:
        raise ConfigError("\n".join(lines))
    return tuple(found)


def _members(sweep: SweepConfig, preset: Mapping[str, Any], choice: _Choice) -> Iterator[Member]:
    model, setting, benchmark, (split, subset) = choice
    chosen: dict[str, Any] = {"dataset.source": benchmark.source} if benchmark.source else {}
    own = _OWN | ({"dataset.source": "benchmarks"} if chosen else {})
    for values in (sweep.common, benchmark.values, model.values, setting.values if setting else {}, sweep.overrides):
        paths = [".".join(path) for path, _ in flattened(values)]
        refused = [f"{path} is set by the sweep: change its field {own[path]!r}" for path in paths if path in own]
        if refused:
            raise ConfigError("\n".join(refused))
        chosen = merged(chosen, values, _ORIGIN)
    name = "-".join(filter(None, (model.label, benchmark.label, split, subset, setting.name if setting else "")))
    if len(name) > _LONGEST_NAME:
        raise ConfigError(f"the name {name!r} is too long for a run: give the model a shorter 'name'")
    answers = model.answers.replace("{split}", split).replace("{subset}", subset)
    answers = answers.replace("{benchmark}", benchmark.label)
    fixed = {
        "name": name,
        "store": sweep.store,
        "out": f"{sweep.out}/{name}" if sweep.out else "",
        "dataset": {"split": split, "subset": subset},
        "samples": {"source": answers or "model"},
        "generation": {"model": model.model},
    }
    # A plug-in's settings replace those of the preset, and not those that the sweep names.
    origins = dict.fromkeys((path for path, _ in flattened(merged(chosen, fixed, _ORIGIN))), _ORIGIN)
    settings = merged(merged(preset, chosen, _ORIGIN), fixed, _ORIGIN)
    for config in expand_grid(load_settings(settings, _ORIGIN, origins=origins)):
        grid = config.name.removeprefix(name).removeprefix("+")
        label = ", ".join(filter(None, (setting.name if setting else "", grid)))
        yield Member(config.name, model.label, label, config)
