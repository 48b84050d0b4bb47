"""How a model can be asked: what its provider takes of a configuration, found out before anything is sent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bigcodeflow.config import GenerationConfig, Split
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation import offline
from bigcodeflow.generation.model_api import PromptForm, Request, Sampling
from bigcodeflow.generation.model_settings import (
    ModelSettings,
    check_form,
    provider_and_model,
    sampling_of,
    soft_parameters,
    without,
)
from bigcodeflow.generation.providers import Endpoint, find_key, open_provider, provider_info


@dataclass(frozen=True, slots=True)
class ResolvedSettings:
    """A setting as its provider takes it."""

    settings: ModelSettings
    notes: tuple[str, ...]
    """What is done differently from what the configuration says, one line each."""


def resolve_settings(config: GenerationConfig, split: Split, *, sends: bool = True) -> ResolvedSettings:
    """How the model can be asked; sends nothing.

    Args:
        config: model and setting.
        split: which prompts are sent.
        sends: whether requests will follow, so that a missing key is an error.

    Raises:
        ConfigError: what the provider does not take, one line a setting.
        GenerationError: the model's own files cannot be read.
    """
    provider_name, _ = provider_and_model(config)
    info = provider_info(provider_name)
    form = _form(config, split)
    check_form(split, form)
    sampling = sampling_of(config.sampling, form)
    if info.offline:
        problems = offline.problems(provider_name, sampling)
        notes: list[str] = []
    else:
        sampling, problems, notes = asyncio.run(_asked_about(config, sampling, form, sends=sends))
    if config.samples_per_request > 1 and not info.several_answers:
        problems = [
            *problems,
            f"generation.samples_per_request: {provider_name} gives one answer a request; set it to 1",
        ]
    if config.requests.batch and not info.batches:
        problems = [*problems, f"generation.requests.batch: {provider_name} has no batch API that is known here"]
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    return ResolvedSettings(ModelSettings(split, form, sampling, config), tuple(notes))


def endpoint_of(config: GenerationConfig, *, sends: bool = True) -> Endpoint:
    """Where the model is asked, with the key from the environment.

    Args:
        config: model and address.
        sends: false takes a stand-in for the key, for what sends nothing.

    Raises:
        ConfigError: the key is missing.
    """
    name, model = provider_and_model(config)
    variable, address = config.api_key_variable, config.base_url
    return Endpoint(
        model=model,
        base_url=address,
        api_key=find_key(name, variable=variable, base_url=address) if sends else provider_info(name).no_key,
        timeout_seconds=config.requests.timeout_seconds,
        connections=config.requests.concurrency,
    )


def _form(config: GenerationConfig, split: Split) -> PromptForm:
    if config.prompt.form != "auto":
        return config.prompt.form
    if not provider_info(provider_and_model(config)[0]).offline:
        return "chat"
    environment = offline.engine_environment(config)
    talks = offline.has_chat_template(config, environment)
    return "prefill" if talks or split == "instruct" else "direct"


async def _asked_about(
    config: GenerationConfig, sampling: Sampling, form: PromptForm, *, sends: bool
) -> tuple[Sampling, list[str], list[str]]:
    """The parameters that the provider takes, what it does not take, and what is done differently."""
    provider = open_provider(provider_and_model(config)[0], endpoint_of(config, sends=sends))
    seed, notes = config.sampling.seed, []
    try:
        for name in soft_parameters(config.sampling):
            problems = provider.problems(sampling, form, seed=seed)
            if any(line.startswith(f"generation.sampling.{name}:") for line in problems):
                sampling = without(sampling, name)
                notes.append(f"{config.model} does not take {name} as the original sets it: the provider's own holds")
        problems = provider.problems(sampling, form, seed=seed)
        notes += provider.notes(sampling, form, seed=seed)
    finally:
        await provider.close()
    return sampling, list(problems), notes


async def request_body(config: GenerationConfig, request: Request) -> Mapping[str, Any]:
    """Exactly what is sent for a request, without address and key; sends nothing."""
    name, _ = provider_and_model(config)
    if provider_info(name).offline:
        return offline.body(request)
    provider = open_provider(name, endpoint_of(config, sends=False))
    try:
        return provider.body(request)
    finally:
        await provider.close()
