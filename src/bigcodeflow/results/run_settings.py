"""The setting of a run, used to group and distinguish runs: how its model was asked and how its answers were judged."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from bigcodeflow.config import GenerationConfig, LimitsConfig, OfflineConfig, PromptConfig, SamplingConfig
from bigcodeflow.results.runs import RecordedRun

_IMPORTED = re.compile(r"(?:^|_)eval_results\.json(\.gz)?$")
#: Endings of the original's file names: processing steps and kind of file. They say nothing about the model.
_ENDING = re.compile(r"(-sanitized)?([-_](un)?calibrated)?((\.|_)eval_results\.json|\.jsonl)?(\.gz)?$")
#: Settings of the execution stage that change scores, each with its non-default value.
_WORTH_SAYING = {"integrity": "off", "quarantine": "exclude"}
#: Settings of loading a model that may change its answers.
_LOADED = ("tokenizer", "dtype", "lora", "max_model_tokens")


class RunSetting(NamedTuple):
    """All settings that can change a run's score, except its model, its tasks and the environment."""

    key: str
    """Identity of the setting and of the server's address, 12 hex digits."""
    text: str
    """The setting in words, without the server's address."""


def setting_of(run: RecordedRun) -> RunSetting:
    """Return a run's setting: the server's address, sampling, prompt, and how the answers were judged.

    Settings that change only the speed of requests are not part of the setting.
    """
    asked, words = _asked(run)
    judged: dict[str, Any] = {
        "sanitizing": _different(run, "sanitizing", {"safety_policy": "flag"}),
        "limits": _different(run, "execution.limits", LimitsConfig().model_dump()),
        "reruns": _section(run, "execution").get("reruns") or 0,
    }
    # Defaults are left out, because the keys of recorded leaderboards do not contain them.
    execution = _section(run, "execution")
    judged |= {name: execution[name] for name, value in _WORTH_SAYING.items() if execution.get(name) == value}
    text = json.dumps({"answers": asked, **judged}, sort_keys=True, default=str)
    words += [f"{name} {_number(value)}" for name, value in judged["limits"].items()]
    if judged["reruns"]:
        words.append(f"{judged['reruns']} reruns")
    if _section(run, "sanitizing").get("safety_policy") == "block":
        words.append("risky calls blocked")
    words += [f"{name} {judged[name]}" for name in _WORTH_SAYING if name in judged]
    return RunSetting(hashlib.sha256(text.encode()).hexdigest()[:12], ", ".join(words))


def _asked(run: RecordedRun) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that identify how the answers were made, as data and in words."""
    source = str(_section(run, "samples").get("source", ""))
    if source != "model":
        name = PurePath(source).name
        # In the original's file names the setting follows the benchmark: vllm-0-1-sanitized_calibrated.
        _, _, rest = name.partition(f"bigcodebench{'-hard' if run.subset == 'hard' else ''}-{run.split}--")
        given = {"samples": _ENDING.sub("", rest)}
        if run.imported or _IMPORTED.search(
            name
        ):  # judged elsewhere, so never equal to the setting of samples that were judged here
            return given | {"judged": "elsewhere"}, [*filter(None, given.values()), "imported results"]
        return given, [given["samples"] or "recorded samples"]
    generation = _section(run, "generation")
    offline = _different(run, "generation.offline", OfflineConfig().model_dump(mode="json"))
    identity = {
        "provider": str(generation.get("model", "")).partition(":")[0],
        "n_samples": generation.get("n_samples", GenerationConfig().n_samples),
        "sampling": _different(run, "generation.sampling", SamplingConfig().model_dump(mode="json")),
        "prompt": _different(run, "generation.prompt", PromptConfig().model_dump(mode="json")),
        "offline": {name: offline[name] for name in _LOADED if name in offline},
        "extra_body": generation.get("extra_body") or {},
    }
    words = list(_words(identity))
    if run.address:
        identity["address"] = run.address
    if generation.get("unanswerable") == "fail":
        identity["unanswerable"] = "fail"
        words.append("unanswerable samples fail")
    return identity, words


def _words(identity: Mapping[str, Any]) -> Iterator[str]:
    yield identity["provider"]
    for name, value in ({"temperature": SamplingConfig().temperature} | identity["sampling"]).items():
        yield f"{name} {'default' if value is None else _number(value)}"
    yield f"{identity['n_samples']} sample{'' if identity['n_samples'] == 1 else 's'} a task"
    if identity["extra_body"]:
        yield "extra_body changed"
    for name, value in {**identity["prompt"], **identity["offline"]}.items():
        # A prompt's text is too long for a table; the run's record has it.
        yield f"{name} {value}" if name in {"form", "dtype", "max_model_tokens"} else f"{name} changed"


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _section(run: RecordedRun, path: str) -> Mapping[str, Any]:
    found: Any = run.config
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _different(run: RecordedRun, path: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of section ``path`` that differ from ``defaults``; so adding a setting keeps old keys.

    For imported runs the result is empty, because null in the settings of an imported run means unknown.
    """
    given = {} if run.imported else _section(run, path)
    return {name: given[name] for name in sorted(given) if name not in defaults or given[name] != defaults[name]}
