"""Short forms for what people start most: a few fields, laid over a preset, give the settings of a run or a sweep."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from bigcodeflow.config import RunConfig, Split, Subset, load_settings, read_preset
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.settings import flattened, merged, validated
from bigcodeflow.pipeline.rescore import RescoreConfig, rescored
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel

Preset = Literal["bigcodebench", "starter"]
SplitOrDefault = Literal["default", "complete", "instruct"]
SubsetOrDefault = Literal["default", "full", "hard"]
Values = Mapping[str, Any]

NO_VALUES: dict[str, Any] = {}
#: Settings that a form has a field for, by the field's name.
_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "generation.model": "model",
        "generation.base_url": "server",
        "generation.n_samples": "samples",
        "dataset.split": "split",
        "dataset.subset": "subset",
        "samples.source": "samples",
        "name": "name",
    }
)


def asked_run(
    *,
    model: str,
    server: str = "",
    split: Split = "complete",
    subset: Subset = "full",
    samples: int = 1,
    preset: Preset = "bigcodebench",
    name: str = "",
    settings: Values = NO_VALUES,
) -> RunConfig:
    """The run that asks a model: the fields of the form *ask-a-model*.

    Raises:
        ConfigError: one line for each mistake.
    """
    if not model.strip():
        raise ConfigError("model: is empty; name one as PROVIDER:NAME, such as openai:gpt-4o")
    model, given = model.strip(), _other_settings(settings, "generation.model", "generation.base_url")
    fields = {
        "generation.model": model,
        "generation.base_url": server.strip(),
        "generation.n_samples": samples,
        "samples.source": "model",
        "dataset.split": split,
        "dataset.subset": subset,
        "name": name or SweepModel(model=model).label,
    }
    base, _ = read_preset(preset)
    origins = {tuple(path.split(".")): "form" for path in fields}
    origins |= {path: "settings" for path, _ in flattened(given)}
    return load_settings(merged(merged(base, fields, "form"), given, "settings"), f"preset {preset}", origins=origins)


def judged_run(
    *,
    samples: str = "",
    run: str = "",
    split: SplitOrDefault = "default",
    subset: SubsetOrDefault = "default",
    preset: Preset = "bigcodebench",
    name: str = "",
    settings: Values = NO_VALUES,
) -> RunConfig:
    """The run that judges samples that exist: the fields of the form *judge-samples*.

    Raises:
        ConfigError: as `rescored`; or both or none of file and run are given.
    """
    if bool(samples.strip()) == bool(run.strip()):
        raise ConfigError("samples, run: give one of them, a sample file or the name of a recorded run")
    given = {"samples": samples.strip(), "run": run.strip(), "preset": preset, "name": name}
    view = {name: chosen for name, chosen in (("split", split), ("subset", subset)) if chosen != "default"}
    return rescored(validated(RescoreConfig, {**given, **view, "values": _other_settings(settings)}, "form"))


def models_sweep(
    *,
    models: Sequence[str],
    splits: Sequence[Split] = ("complete",),
    subsets: Sequence[Subset] = ("full",),
    samples: int = 1,
    preset: Preset = "bigcodebench",
    name: str = "models",
    settings: Values = NO_VALUES,
) -> SweepConfig:
    """The sweep over models: the fields of the form *sweep-models*. What holds no colon names answers that exist.

    Raises:
        ConfigError: one line for each mistake in the fields; the members' own are named when they are made.
    """
    named = [entry.strip() for entry in models if entry.strip()]
    if not named:
        raise ConfigError("models: is empty; name one a row as PROVIDER:NAME, such as openai:gpt-4o")
    entries = [{"model": entry} if ":" in entry else {"answers": entry} for entry in dict.fromkeys(named)]
    common = {"generation.n_samples": samples} | _other_settings(settings)
    fields = {"models": entries, "splits": splits, "subsets": subsets, "preset": preset, "common": common}
    return validated(SweepConfig, {**fields, "name": name or "models"}, "form")


def _other_settings(settings: Values, *fields: str) -> dict[str, Any]:
    """The settings, of which none may be what the form has a field for."""
    own = {"dataset.split", "dataset.subset", "samples.source", "name", *fields}
    paths = [".".join(path) for path, _ in flattened(settings)]
    if refused := [f"settings: {path} has a field of its own, {_FIELDS[path]}" for path in paths if path in own]:
        raise ConfigError("\n".join(refused))
    return dict(settings)
