"""Which model a run is of, and under which setting it was asked."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from bigcodeflow.config import GenerationConfig, LimitsConfig, OfflineConfig, PromptConfig, SamplingConfig
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow.results.titles import Model, named_model

_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
_IMPORTED = re.compile(r"_eval_results\.json(\.gz)?$")
#: How a model is loaded where that may change what it answers.
_LOADED = ("tokenizer", "dtype", "lora", "max_model_tokens")


class Setting(NamedTuple):
    """How a model was asked and its answers were judged: its identity, and the same in words."""

    key: str
    text: str


def model_of(run: RecordedRun) -> Model:
    """The model with its revision."""
    return named_model(run.model)


def setting_of(run: RecordedRun) -> Setting:
    """The setting: everything beside model, tasks and environment that can change the score.

    Addresses of servers, and how fast they were asked, are no part of it.
    """
    identity, words = _answers(run)
    judged: dict[str, Any] = {
        "sanitizing": _different(run, "sanitizing", {"safety_policy": "flag"}),
        "limits": _different(run, "execution.limits", LimitsConfig().model_dump()),
        "reruns": _section(run, "execution").get("reruns") or 0,
    }
    text = json.dumps({"answers": identity, **judged}, sort_keys=True, default=str)
    if judged["limits"]:
        words = (*words, *(f"{name} {value:g}" for name, value in sorted(judged["limits"].items())))
    if judged["reruns"]:
        words = (*words, f"{judged['reruns']} reruns")
    if _section(run, "sanitizing").get("safety_policy") == "block":
        words = (*words, "risky calls blocked")
    return Setting(hashlib.sha256(text.encode()).hexdigest()[:12], ", ".join(words))


def _answers(run: RecordedRun) -> tuple[dict[str, Any], tuple[str, ...]]:
    source = str(_section(run, "samples").get("source", ""))
    if source != "model":
        name = _SUFFIX.sub("", PurePath(source).name)
        # What follows the benchmark in the original's file names is the setting: vllm-0-1-sanitized_calibrated.
        _, _, rest = name.partition(f"bigcodebench{'-hard' if run.subset == 'hard' else ''}-{run.split}--")
        given = {"samples": rest or name}
        if _IMPORTED.search(name):  # judged elsewhere, so never the same setting as samples that were judged here
            return given, (_IMPORTED.sub("", rest or name), "imported results")
        return given, (rest or f"samples {name}",)
    generation = _section(run, "generation")
    sampling = _different(run, "generation.sampling", SamplingConfig().model_dump(mode="json"))
    prompt = _different(run, "generation.prompt", PromptConfig().model_dump(mode="json"))
    offline = _different(run, "generation.offline", OfflineConfig().model_dump(mode="json"))
    identity = {
        "provider": str(generation.get("model", "")).partition(":")[0],
        "n_samples": generation.get("n_samples", GenerationConfig().n_samples),
        "sampling": sampling,
        "prompt": prompt,
        "offline": {name: offline[name] for name in _LOADED if name in offline},
        "extra_body": generation.get("extra_body") or {},
    }
    return identity, tuple(_words(identity))


def _words(identity: Mapping[str, Any]) -> Iterator[str]:
    yield identity["provider"]
    sampling = {"temperature": SamplingConfig().temperature, **identity["sampling"]}
    for name, value in sampling.items():
        told = "default" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        yield f"{name} {told}"
    count = identity["n_samples"]
    yield f"{count} sample{'' if count == 1 else 's'} a task"
    yield from (f"{name} changed" for name in ("extra_body",) if identity[name])
    for name, value in {**identity["prompt"], **identity["offline"]}.items():
        # A prompt's text is too long for a table, and is found in the run record.
        yield f"{name} {value}" if name in {"form", "dtype", "max_model_tokens"} else f"{name} changed"


def _section(run: RecordedRun, path: str) -> Mapping[str, Any]:
    found: Any = run.config
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _different(run: RecordedRun, path: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from the defaults: a setting that a later version adds must not make old runs ones of another.

    Nothing differs as far as is known where a run was imported: null there means unknown, and not a value.
    """
    given = {} if run.imported else _section(run, path)
    return {name: given[name] for name in sorted(given) if name not in defaults or given[name] != defaults[name]}
