"""Convert the form fields of flows into the settings of a run or a sweep.

Short forms have a few fields, which override a preset. These fields are the parameters of `asked_run`, `judged_run`
and `models_sweep`, with their defaults and descriptions.
"""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from bigcodeflow.config import RunConfig, Split, Subset, load_settings, read_preset
from bigcodeflow.core.env_file import read_env_file
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError
from bigcodeflow.core.settings import flattened, merged, validated
from bigcodeflow.pipeline.preflight import problems_of, require_model
from bigcodeflow.pipeline.rescore import RescoreConfig, rescored
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel, load_sweep, members_of

Preset = Literal["bigcodebench", "starter"]
SplitOrDefault = Literal["default", "complete", "instruct"]
SubsetOrDefault = Literal["default", "full", "hard"]
SampleCount = Annotated[int, Field(ge=1, le=100_000)]
TaskCount = Annotated[int, Field(ge=0)]
Values = dict[str, Any]

_NONE: Values = {}
_COMPLETE: tuple[Split, ...] = ("complete",)
_HARD: tuple[Subset, ...] = ("hard",)
#: Path of a setting → the form's field for it: in every form, in forms that ask models, in the form of one model.
_FIELDS = {f"dataset.{field}": field for field in ("split", "subset", "ids", "limit")}
_FIELDS |= {"samples.source": "samples", "name": "name"}
_FIELDS_OF_MODELS = _FIELDS | {f"generation.{field}": field for field in ("n_samples", "base_url")}
_FIELDS_OF_A_MODEL = _FIELDS_OF_MODELS | {"generation.model": "model"}


def asked_run(
    *,
    model: str,
    base_url: str = "",
    split: Split = "complete",
    subset: Subset = "hard",
    ids: str = "",
    limit: TaskCount = 0,
    n_samples: SampleCount = 1,
    preset: Preset = "bigcodebench",
    name: str = "",
    settings: Values = _NONE,
) -> RunConfig:
    """Make the settings of a run that asks a model.

    Args:
        model: PROVIDER:NAME, such as openai:gpt-4o, anthropic:claude-sonnet-4-5 or vllm:Qwen/Qwen2.5-Coder-7B-Instruct.
        base_url: Address of a server that speaks the provider's protocol, such as http://127.0.0.1:8000/v1; if empty,
            the provider's own address.
        split: 'complete' prompts with a docstring, 'instruct' with prose.
        subset: 'hard' takes the 148 tasks of BigCodeBench-Hard, 'full' all 1,140.
        ids: Task numbers or ids and ranges of numbers, such as 1,5-9; empty takes all.
        limit: Number of tasks to take, from the first; 0 takes all.
        n_samples: Answers to each task.
        preset: 'bigcodebench' is BigCodeBench with the original's limits, 'starter' the small shipped set.
        name: Name of the run; if empty, the model's name.
        settings: Any other settings by path, such as {"generation.sampling.max_tokens": 8192}.

    Raises:
        ConfigError: a field is invalid; the message has a line for each mistake.
    """
    if base_url.strip() or not model.strip():
        require_model(model.strip(), base_url.strip())
    model, given = model.strip(), _other_settings(settings, _FIELDS_OF_A_MODEL)
    fields = {
        "generation.model": model,
        "generation.base_url": base_url.strip(),
        "generation.n_samples": n_samples,
        "samples.source": "model",
        "dataset.split": split,
        "dataset.subset": subset,
        "dataset.ids": ids,
        "dataset.limit": limit,
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
    ids: str = "",
    limit: TaskCount = 0,
    preset: Preset = "bigcodebench",
    name: str = "",
    settings: Values = _NONE,
) -> RunConfig:
    """Make the settings of a run that judges existing samples.

    Args:
        samples: Sample file (JSONL, JSONL.gz) or folder, or 'oracle', 'stub', 'cheat' or 'starter'. Leave empty if
            ``run`` is set.
        run: Recorded run whose samples are judged again, by record, run or model name, or 'latest'. Leave empty if
            ``samples`` is set.
        split: Prompts that the samples answer: complete or instruct; 'default' takes the split of the preset or run.
        subset: 'hard' judges the 148 tasks of BigCodeBench-Hard, 'full' all; 'default' is that of the preset or run.
        ids: Task numbers or ids and ranges of numbers, such as 1,5-9; if empty, the tasks of the preset or the run.
        limit: Number of tasks to judge, from the first; 0 takes the number of the preset or the run.
        preset: Settings for a sample file: 'bigcodebench' or 'starter'. A recorded run has its own settings.
        name: Name of the new run; if empty, the preset's name, or the recorded run's with '-rescored' appended.
        settings: Any other settings by path, such as {"sanitizing.mode": "robust"}.

    Raises:
        ConfigError: for the reasons of `rescored`, or because not exactly one of ``samples`` and ``run`` is given.
    """
    if bool(samples.strip()) == bool(run.strip()):
        raise ConfigError("samples, run: give one of them, either a sample file or the name of a recorded run")
    given = {"samples": samples.strip(), "run": run.strip(), "preset": preset, "name": name}
    view = {name: chosen for name, chosen in (("split", split), ("subset", subset)) if chosen != "default"}
    values, folders = _folders_apart(_other_settings(settings, _FIELDS))
    values |= _chosen_tasks(ids, limit)
    return rescored(validated(RescoreConfig, {**given, **view, **folders, "values": values}, "form"))


def models_sweep(
    *,
    models: list[str],
    benchmarks: Sequence[str] = (),
    base_url: str = "",
    splits: Sequence[Split] = _COMPLETE,
    subsets: Sequence[Subset] = _HARD,
    ids: str = "",
    limit: TaskCount = 0,
    n_samples: SampleCount = 1,
    preset: Preset = "bigcodebench",
    name: str = "models",
    settings: Values = _NONE,
) -> SweepConfig:
    """Make the settings of a sweep over models.

    Args:
        models: Each entry is PROVIDER:NAME, such as openai:gpt-4o, or existing answers: a sample file, 'oracle',
            'stub', 'cheat' or 'starter'.
        benchmarks: Datasets, such as bigcode/bigcodebench, evalplus/humanevalplus or a plug-in's NAME=FILE; if empty,
            the preset's. Benchmarks other than BigCodeBench have only the split complete and the subset full.
        base_url: Address of a server that offers all these models, such as http://127.0.0.1:8000/v1; if empty, each
            provider's own address.
        splits: 'complete' prompts with a docstring, 'instruct' with prose.
        subsets: 'hard' takes the 148 tasks of BigCodeBench-Hard, 'full' all 1,140.
        ids: Task numbers or ids and ranges of numbers, such as 1,5-9; empty takes all.
        limit: Number of tasks to take, from the first; 0 takes all.
        n_samples: Answers to each task.
        preset: 'bigcodebench' is BigCodeBench with the original's limits, 'starter' the small shipped set.
        name: Name of the sweep.
        settings: Any other settings of every run by path, such as {"generation.requests.max_cost_usd": 5}.

    Raises:
        ConfigError: a field is invalid; the message has a line for each mistake. `members_of` checks the single runs.
    """
    named = [entry.strip() for entry in models if entry.strip()]
    if not named:
        require_model("", base_url.strip())
    entries = [{"model": entry} if ":" in entry else {"answers": entry} for entry in dict.fromkeys(named)]
    values, folders = _folders_apart(_other_settings(settings, _FIELDS_OF_MODELS))
    common = {"generation.n_samples": n_samples, "generation.base_url": base_url.strip()} | _chosen_tasks(ids, limit)
    common |= values
    fields = {"models": entries, "splits": splits, "subsets": subsets, "preset": preset, "common": common, **folders}
    if sources := [source.strip() for source in benchmarks if source.strip()]:
        fields["benchmarks"] = [{"source": source} for source in dict.fromkeys(sources)]
    return validated(SweepConfig, {**fields, "name": name or "models"}, "form")


def _chosen_tasks(ids: str, limit: int) -> Values:
    """Return ``ids`` and ``limit`` as settings by path; leave out empty values."""
    return {path: value for path, value in (("dataset.ids", ids), ("dataset.limit", limit)) if value}


def _folders_apart(settings: Values) -> tuple[Values, Values]:
    """Split ``settings``: return all settings except ``store`` and ``out``, and a mapping with only these two."""
    folders: Values = {name: settings.pop(name) for name in ("store", "out") if name in settings}
    return settings, folders


def _other_settings(settings: Values, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return a copy of ``settings``; raise ConfigError if any of these settings has a separate field in the form.

    ``fields`` maps the paths of settings with a separate field to the names of their fields.
    """
    paths = [".".join(path) for path, _ in flattened(settings)]
    if refused := [f"settings: {path} has its own field: use {fields[path]}" for path in paths if path in fields]:
        raise ConfigError("\n".join(refused))
    return dict(settings)


def runs_of(flow: str, parameters: Mapping[str, Any]) -> list[RunConfig]:
    """Return the settings of every run that the flow function named ``flow`` would start; empty if it starts none.

    Raises:
        ConfigError: a field is invalid; the message has a line for each mistake. A missing required field is no error
            here, because Prefect reports it: the result is empty.
    """
    make = _MADE_BY.get(flow)
    if make is None:
        return []
    fields = inspect.signature(make).parameters
    if unknown := parameters.keys() - fields.keys():
        raise ConfigError(f"{', '.join(sorted(unknown))}: the form has no such field; use one of: {', '.join(fields)}")
    if {field.name for field in fields.values() if field.default is field.empty} - parameters.keys():
        return []
    made = make(**parameters)
    return [member.config for member in members_of(made)] if isinstance(made, SweepConfig) else [made]


def problems_of_form(
    entrypoint: str, parameters: Iterable[Mapping[str, Any]], *, secrets: Collection[str], env_file: Path
) -> list[str]:
    """Return all mistakes in a flow's ``parameters``, a line for each; empty if the flow is not of this project.

    ``parameters`` has a mapping for each run. Runs will have the variables of this process and ``env_file``, and the
    API keys in the Prefect blocks ``secrets``.
    """
    from bigcodeflow.generation.providers import secret_block  # takes long to import

    module, _, flow = entrypoint.rpartition(".")
    if not module.startswith("flows."):
        return []
    try:
        runs = [run for one in parameters for run in runs_of(flow, one)]
        variables = read_env_file(env_file) if os.path.lexists(env_file) else {}
    except BigCodeFlowError as error:
        return str(error).splitlines()
    except (AttributeError, TypeError, ValueError):  # wrong types: Prefect reports these
        return []
    return problems_of(runs, lambda name: name in variables or secret_block(name) in secrets)


_MADE_BY: Mapping[str, Callable[..., RunConfig | SweepConfig]] = MappingProxyType(
    {
        "benchmark": lambda config: validated(RunConfig, config, "config"),
        "rescore": lambda config: rescored(validated(RescoreConfig, config, "config")),
        "sweep": lambda config=_NONE: validated(SweepConfig, config, "config"),
        "sweep_file": lambda file="starter": load_sweep(file),
        "ask_a_model": asked_run,
        "judge_samples": judged_run,
        "sweep_models": models_sweep,
    }
)
