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
    """One model of a sweep: asked, or known by answers that exist."""

    model: str = Field(default="", examples=["openai:gpt-4o"])
    """PROVIDER:NAME of a model to ask, such as openai:gpt-4o. Leave empty where answers are given."""
    answers: str = Field(default="", examples=["oracle"])
    """Answers that exist: a sample file or folder, 'oracle', 'stub', 'cheat' or 'starter'. The words {benchmark},
    {split} and {subset} in a path are replaced. Leave empty where a model is given."""
    name: str = Field(default="", max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the model in names of runs; letters, digits and . _ - + only. Empty takes the model's or the
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
        """Name for names of runs: the given one, else one made from the model or the file."""
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
    """One benchmark of a sweep."""

    source: str = Field(default="", examples=["evalplus/humanevalplus"])
    """Its tasks, as in dataset.source; empty takes those of the preset."""
    name: str = Field(default="", max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the benchmark in names of runs; letters, digits and . _ - + only. Empty takes the name of a
    dataset or plug-in, and none for BigCodeBench and the starter set."""
    splits: tuple[Split, ...] = ()
    """Its splits; empty takes the plug-in's own, and for BigCodeBench and the starter set those of the sweep."""
    subsets: tuple[Subset, ...] = ()
    """Its subsets; empty takes 'full', and for BigCodeBench and the starter set those of the sweep."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Settings for this benchmark alone, by path, such as {"dataset.released_after": "2024-08-01"}."""

    @property
    def label(self) -> str:
        """Name for names of runs; empty for BigCodeBench, its starter set, and a task file without a name."""
        return self.name or as_name(shown_benchmark(self.source))

    def views(self, sweep: "SweepConfig") -> Iterator[tuple[Split, Subset]]:
        """Yield its splits and subsets."""
        is_other, plugin = bool(shown_benchmark(self.source)), benchmark_of(self.source)
        own: Split = dict(flattened(plugin.settings if plugin else {})).get(("dataset", "split"), "complete")
        splits = self.splits or ((own,) if is_other else sweep.splits)
        subsets = self.subsets or (_FULL if is_other else sweep.subsets)
        return itertools.product(splits, subsets)


class SweepSetting(SettingsModel):
    """One setting of a sweep, tried with every model."""

    name: str = Field(min_length=1, max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the setting in names of runs; letters, digits and . _ - + only."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Settings by path, such as {"sanitizing.mode": "robust"}."""


class SweepConfig(SettingsModel):
    """Models, benchmarks, splits, subsets and settings; every combination of them is a run of its own.

    Settings apply in this order, the later ones winning: preset, the benchmark plug-in's, common, the benchmark's, the
    model's, the setting's, overrides.
    """

    name: str = Field(default="starter", min_length=1, max_length=_NAME_LENGTH, pattern=NAME_PATTERN)
    """Name of the sweep; letters, digits and . _ - + only."""
    preset: str = "starter"
    """Preset that every run begins with: 'starter', 'bigcodebench' or the path of a YAML file."""
    models: tuple[SweepModel, ...] = Field(
        default=(SweepModel(answers="oracle"), SweepModel(answers="stub")), min_length=1
    )
    """The models."""
    benchmarks: tuple[SweepBenchmark, ...] = Field(default=(SweepBenchmark(),), min_length=1)
    """The benchmarks, each with its own splits and subsets; a single empty entry is the preset's."""
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
    """Read a sweep from a YAML file, or a shipped one by its name; the overrides win over what the file says."""
    settings, path = read_yaml("sweep", file, "configs/sweeps")
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: holds no sweep: it must hold sections such as 'models:'")
    sweep = validated(SweepConfig, {"name": path.stem, **settings}, str(path))
    return sweep.model_copy(update={"overrides": {**sweep.overrides, **(overrides or {})}})


_Choice = tuple[SweepModel, SweepSetting | None, SweepBenchmark, tuple[Split, Subset]]


class Member(NamedTuple):
    """One run of a sweep."""

    name: str
    """Name of the run, unique within the sweep."""
    model: str
    setting: str
    """Name of the setting and values of a grid; empty if the sweep has neither."""
    config: RunConfig

    @property
    def title(self) -> str:
        """Title for people: model, benchmark, subset, split and setting."""
        view = self.config.dataset
        return title_of(self.model, view.subset, view.split, self.setting, benchmark=shown_benchmark(view.source))


def members_of(sweep: SweepConfig) -> tuple[Member, ...]:
    """Return every run of the sweep, model by model; one ConfigError lists all mistakes before any of them starts."""
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
        refused = [f"{path} is what the sweep itself sets: change its {own[path]!r}" for path in paths if path in own]
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
