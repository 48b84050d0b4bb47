"""One model under one setting: what identifies its answers, and the requests that bring them."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bigcodeflow.config import GenerationConfig, SamplingConfig, Split
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation import prompts
from bigcodeflow.generation.exchange import PromptForm, Request, Sampling
from bigcodeflow.generation.grid import varied_parameters

#: The original's nucleus wherever it does not take the likeliest word.
_TOP_P = 0.95
#: How a model is loaded where that may change what it answers.
_LOADED = {"revision", "tokenizer", "dtype", "lora", "max_model_tokens"}
#: The same, left out where they are empty: answers that were paid for keep the folder that they are in.
_LOADED_OTHERWISE = ("environment", "trust_remote_code")


@dataclass(frozen=True, slots=True)
class Setting:
    """How every task is asked."""

    split: Split
    form: PromptForm
    sampling: Sampling
    config: GenerationConfig

    def requests(self, tasks: Iterable[Mapping[str, Any]]) -> Iterator[Request]:
        """The requests for every sample of the tasks, task by task.

        Args:
            tasks: rows of the TASKS schema.
        """
        config = self.config
        for task in tasks:
            prompt = prompts.prompt_of(task, self.split, self.form, config.prompt)
            for first in range(0, config.n_samples, config.samples_per_request):
                last = min(first + config.samples_per_request, config.n_samples)
                seed = config.sampling.seed
                yield Request(
                    task_id=task["task_id"],
                    sample_indices=tuple(range(first, last)),
                    prompt=prompt,
                    sampling=self.sampling,
                    seed=None if seed is None else seed + first,
                    extra_body=config.extra_body,
                )


def named(config: GenerationConfig) -> tuple[str, str]:
    """Provider and model."""
    provider, _, model = config.model.partition(":")
    return provider, model


def require_one_setting(config: GenerationConfig) -> None:
    """Refuse a grid where one setting is asked.

    Raises:
        ConfigError: a parameter is a list.
    """
    if varied := varied_parameters(config.sampling):
        raise ConfigError(
            f"generation.sampling.{varied[0]}: is a list, which makes a grid of runs: give one value here, or start it "
            "with `bigcodeflow generate` or `bigcodeflow run`, which run every setting"
        )


def identity(config: GenerationConfig) -> dict[str, Any]:
    """Everything that can change an answer beside the prompt, which answers are told apart by; JSON-able.

    Raises:
        ConfigError: the configuration is a grid.
    """
    require_one_setting(config)
    found = config.model_dump(mode="json", include={"model", "base_url", "prompt", "sampling", "extra_body"})
    otherwise = {name for name in _LOADED_OTHERWISE if getattr(config.offline, name)}
    found["offline"] = config.offline.model_dump(mode="json", include=_LOADED | otherwise)
    return found


def ledger_key(config: GenerationConfig) -> str:
    """Name of the folder that holds the answers of this setting, however many samples are wanted."""
    return hashlib.sha256(json.dumps(identity(config), sort_keys=True).encode()).hexdigest()


def sampling_of(config: SamplingConfig, form: PromptForm) -> Sampling:
    """The parameters that are sent, the original's defaults and ends of answers included."""
    given: dict[str, Any] = config.model_dump(exclude={"seed", "stop"})
    if given["top_p"] is None and given["temperature"]:
        given["top_p"] = _TOP_P
    return Sampling(**given, stop=tuple(dict.fromkeys((*config.stop, *prompts.stops_of(form)))))


def soft_parameters(config: SamplingConfig) -> Iterator[str]:
    """Parameters that stand for the original's defaults: where a model takes none, its own holds, which is said."""
    if config.top_p is None and config.temperature:
        yield "top_p"
    if config.temperature == 0.0:
        yield "temperature"


def without(sampling: Sampling, name: str) -> Sampling:
    """The same parameters with one left to the provider."""
    left: dict[str, Any] = {name: None}
    return replace(sampling, **left)
