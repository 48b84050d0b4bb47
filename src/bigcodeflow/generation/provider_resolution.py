"""How a model can be asked: what its provider takes of a configuration, found out before anything is sent."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
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
)
from bigcodeflow.generation.providers import Endpoint, find_key, open_provider, provider_info


def resolve_settings(config: GenerationConfig, split: Split, *, sends: bool = True) -> ModelSettings:
    """How the model can be asked; sends nothing.

    Args:
        config: model and setting.
        split: which prompts are sent.
        sends: whether requests will follow, so that a missing key is an error.

    Raises:
        ConfigError: what the provider does not take, one line a setting.
        GenerationError: the model's own files cannot be read.
    """
    provider, _ = provider_and_model(config)
    info = provider_info(provider)
    form: PromptForm = "chat"
    if config.prompt.form != "auto":
        form = config.prompt.form
    elif info.offline:
        talks = offline.has_chat_template(config, offline.engine_environment(config))
        form = "prefill" if talks or split == "instruct" else "direct"
    check_form(split, form)
    sampling, notes = sampling_of(config.sampling, form), list[str]()
    if info.offline:
        problems = offline.problems(provider, sampling)
    else:
        sampling, problems, notes = asyncio.run(_ask_provider(config, sampling, form, sends=sends))
    if config.samples_per_request > 1 and not info.several_answers:
        problems.append(f"generation.samples_per_request: {provider} gives one answer a request; set it to 1")
    if config.requests.batch and not info.batches:
        problems.append(f"generation.requests.batch: {provider} has no batch API that is known here")
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    return ModelSettings(split, form, sampling, config, tuple(notes))


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


async def _ask_provider(
    config: GenerationConfig, sampling: Sampling, form: PromptForm, *, sends: bool
) -> tuple[Sampling, list[str], list[str]]:
    """The parameters that the provider takes, what it does not take, and what is done differently."""
    provider = open_provider(provider_and_model(config)[0], endpoint_of(config, sends=sends))
    seed, notes = config.sampling.seed, []
    try:
        for name in soft_parameters(config.sampling):
            problems = provider.problems(sampling, form, seed=seed)
            if any(line.startswith(f"generation.sampling.{name}:") for line in problems):
                left: dict[str, Any] = {name: None}
                sampling = replace(sampling, **left)
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
