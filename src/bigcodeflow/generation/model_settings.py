"""Settings for asking a model: exact prompts of the original, accepted parameters, and the identity of answers.

Prompts have three forms. 'chat' asks for a program in a code block. 'prefill' asks the same and begins the answer, so
that the model continues inside the block. 'direct' is the code to be completed, for models without chat training.
"""

import asyncio
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bigcodeflow.config import GenerationConfig, PromptConfig, RunConfig, SamplingConfig, Split
from bigcodeflow.config.generation import FENCE, INSTRUCTION_PREFIX, answer_beginning, template_sha256
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.batches import has_batches
from bigcodeflow.generation.local_engines import Engine, OfflineEngine, engine_of
from bigcodeflow.generation.model_api import AnswerKey, Message, Prompt, PromptForm, Request, Sampling
from bigcodeflow.generation.providers import Endpoint, find_key, open_provider, provider_info

#: Stop texts of the original for models that it runs itself; chat APIs get none.
_STOPS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
#: Texts that end an answer, by the prompt's form.
STOPS: Mapping[PromptForm, tuple[str, ...]] = {
    "chat": (),
    "prefill": (*_STOPS, f"\n{FENCE}\n"),
    "direct": (*_STOPS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
}


def prompt_of(task: Mapping[str, Any], split: Split, form: PromptForm, config: PromptConfig) -> Prompt:
    """Return the prompt of a task in the original's wording, except for texts that ``config`` replaces."""
    template_sha = template_sha256(split, form, config)
    if form == "direct":
        return Prompt("direct", text=task["complete_prompt"], template_sha=template_sha)
    prefix = config.instruction_prefix or INSTRUCTION_PREFIX
    if split == "complete":
        question = f"{prefix}\n{FENCE}\n{task['complete_prompt'].strip()}\n{FENCE}\n"
    else:
        question = f"{prefix}\n{task['instruct_prompt'].strip()}\n"
    turns = [Message("system", config.system)] if config.system else []
    turns.append(Message("user", question))
    if form == "prefill":
        turns.append(Message("assistant", answer_beginning(config)))
    return Prompt(form, messages=tuple(turns), template_sha=template_sha)


#: Settings for loading a model that may change its answers.
_LOADED = {"revision", "tokenizer", "dtype", "lora", "max_model_tokens"}


@dataclass(frozen=True, slots=True)
class ModelSettings:
    split: Split
    form: PromptForm
    sampling: Sampling
    config: GenerationConfig
    notes: tuple[str, ...] = ()
    """Differences between the configuration and what is sent, one line each."""

    def requests(self, tasks: Iterable[Mapping[str, Any]]) -> Iterator[Request]:
        """Yield the requests for all samples of the tasks, which are rows of the TASKS schema."""
        config = self.config
        for task in tasks:
            prompt = prompt_of(task, self.split, self.form, config.prompt)
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

    def wanted(self, tasks: Iterable[Mapping[str, Any]]) -> dict[AnswerKey, Request]:
        """Return a dict from the key of each wanted answer to the request that asks for this answer."""
        return {key: request for request in self.requests(tasks) for key in request.keys}


def provider_and_model(config: GenerationConfig) -> tuple[str, str]:
    provider, _, model = config.model.partition(":")
    return provider, model


def require_one_setting(config: GenerationConfig) -> None:
    """Raise ConfigError if a sampling parameter is a list, because the caller accepts single values only."""
    if varied := _varied_parameters(config.sampling):
        raise ConfigError(
            f"generation.sampling.{varied[0]}: is a list, which starts a run for each value: give one value, or start "
            "the runs with `bigcodeflow generate` or `bigcodeflow run`, which accept lists"
        )


def identity(config: GenerationConfig) -> dict[str, Any]:
    """Return the settings that can change an answer, as JSON values; their hash is the name of the ledger's folder."""
    require_one_setting(config)
    found = config.model_dump(mode="json", include={"model", "base_url", "prompt", "sampling", "extra_body"})
    # Omitted if they are empty, so that answers that were paid for keep their folder.
    otherwise = {name for name in ("environment", "trust_remote_code") if getattr(config.offline, name)}
    if not config.prompt.stop:
        del found["prompt"]["stop"]
    found["offline"] = config.offline.model_dump(mode="json", include=_LOADED | otherwise)
    return found


def ledger_key(config: GenerationConfig) -> str:
    """Return the folder's name for answers to ``config``; the number of samples does not change the name."""
    return hashlib.sha256(json.dumps(identity(config), sort_keys=True).encode()).hexdigest()


def ledger_of(config: GenerationConfig, answers_folder: Path) -> AnswerLedger:
    """Return the ledger for ``config``; unanswerable requests count as failed if generation.unanswerable is 'fail'."""
    return AnswerLedger(answers_folder / ledger_key(config), accepts_unanswerable=config.unanswerable == "fail")


def sampling_of(config: SamplingConfig, form: PromptForm, code_ends: Sequence[str] = ()) -> Sampling:
    """Return the sampling parameters that are sent, including defaults and stop texts of the original.

    For the form 'direct', ``code_ends`` replace the original's stop texts that end a function, such as 'def'.
    """
    given: dict[str, Any] = config.model_dump(exclude={"seed", "stop"})
    if given["top_p"] is None and given["temperature"]:
        given["top_p"] = 0.95  # the original's value whenever it does not decode greedily
    own = (*_STOPS, *code_ends) if code_ends and form == "direct" else STOPS[form]
    return Sampling(**given, stop=tuple(dict.fromkeys((*config.stop, *own))))


def resolve_settings(config: GenerationConfig, split: Split, *, sends: bool = True) -> ModelSettings:
    """Resolve the settings for asking the model, without sending anything.

    ``sends`` is True if the caller will send requests: only then a missing key is an error.

    Raises:
        ConfigError: the provider does not accept some settings; the message has one line per setting.
        GenerationError: the model's own files cannot be read.
    """
    engine = engine_of(config)
    form: PromptForm = "chat"
    if config.prompt.form != "auto":
        form = config.prompt.form
    elif engine is not None:
        form = engine.usual_form(config, split)
    if form == "direct":
        _check_direct(config, split)
    sampling, notes, problems = sampling_of(config.sampling, form, config.prompt.stop), list[str](), list[str]()
    request = Request("", (0,), Prompt(form), sampling, config.sampling.seed)
    if not isinstance(engine, OfflineEngine):
        sampling, problems, notes = asyncio.run(_ask_provider(config, request, endpoint_of(config, sends=sends)))
    problems += _conflicts(config, form, engine)
    problems += engine.problems(config, request) if engine is not None else ()
    first = {line.partition(":")[0]: line for line in reversed(problems)}
    if first:
        raise ConfigError("\n".join(reversed(first.values())))
    return ModelSettings(split, form, sampling, config, tuple(notes))


def _check_direct(config: GenerationConfig, split: Split) -> None:
    """Raise ConfigError if the form 'direct' does not fit the split or the rounds."""
    if split == "instruct":
        raise ConfigError(
            "generation.prompt.form 'direct' continues code, but prompts of dataset.split 'instruct' have no code: "
            "take dataset.split complete, or generation.prompt.form chat"
        )
    if config.rounds > 1:
        raise ConfigError(
            f"generation.rounds {config.rounds}: the form 'direct' continues code and has no turns for feedback: set "
            "generation.rounds to 1, or take a model with a chat template and the form chat or prefill"
        )


def _conflicts(config: GenerationConfig, form: PromptForm, engine: Engine | None) -> Iterator[str]:
    """Yield the settings that do not fit the provider, one line each."""
    provider, _ = provider_and_model(config)
    if config.samples_per_request > 1 and not (engine or provider_info(provider)).several_answers:
        yield f"generation.samples_per_request: {provider} gives one answer a request; set this to 1"
    if config.requests.batch and not has_batches(provider):
        yield f"generation.requests.batch: no batch API of {provider} is known; set this to false"
    if config.requests.batch and (provider, form) == ("mistral", "prefill"):
        yield "generation.requests.batch: Mistral's answers repeat the prefill; set generation.prompt.form to chat"


async def _ask_provider(
    config: GenerationConfig, request: Request, endpoint: Endpoint
) -> tuple[Sampling, list[str], list[str]]:
    """Return the sampling parameters to send, messages on refused settings, and notes on changed settings."""
    notes = list[str]()
    # Defaults of the original: if a model does not accept them, the provider's default applies.
    defaults = {"top_p": config.sampling.top_p is None, "temperature": config.sampling.temperature == 0.0}
    async with aclosing(open_provider(provider_and_model(config)[0], endpoint)) as provider:
        for name in (name for name, is_default in defaults.items() if is_default and name in request.sampling.given()):
            if any(line.startswith(f"generation.sampling.{name}:") for line in provider.problems(request)):
                left: dict[str, Any] = {name: None}
                request = replace(request, sampling=replace(request.sampling, **left))
                notes.append(f"{config.model} does not accept the original's {name}: the provider's default is used")
        return request.sampling, provider.problems(request), notes + provider.notes(request)


def endpoint_of(config: GenerationConfig, *, sends: bool = True) -> Endpoint:
    """Return the model's endpoint, with the key from the environment or, if ``sends`` is False, a placeholder."""
    name, model = provider_and_model(config)
    variable, address = config.api_key_variable, config.base_url
    return Endpoint(
        model=model,
        base_url=address,
        api_key=find_key(name, variable=variable, base_url=address) if sends else _NO_KEY,
        timeout_seconds=config.requests.timeout_seconds,
        connections=config.requests.concurrency,
        limit_parameter=config.requests.limit_parameter,
    )


def missing_key(config: GenerationConfig) -> str:
    """Return a message that says which key is missing for this model, and how to set it; empty if none is missing."""
    name, _ = provider_and_model(config)
    try:
        find_key(name, variable=config.api_key_variable, base_url=config.base_url)
    except ConfigError as error:
        return str(error)
    return ""


async def request_body(config: GenerationConfig, request: Request) -> Mapping[str, Any]:
    """Return the body that would be sent for a request, without address and key; send nothing."""
    name, _ = provider_and_model(config)
    engine = engine_of(config)
    if isinstance(engine, OfflineEngine):
        return engine.body(request)
    async with aclosing(open_provider(name, endpoint_of(config, sends=False))) as provider:
        return provider.body(request)


#: Key of a provider through which nothing is sent; begins like those of Hugging Face, which are checked.
_NO_KEY = "hf_not-needed"
#: Short names of parameters that a grid may vary, for names of runs and folders.
_SHORT = {
    "temperature": "t",
    "top_p": "p",
    "top_k": "k",
    "max_tokens": "max",
    "frequency_penalty": "fp",
    "presence_penalty": "pp",
    "reasoning_effort": "effort",
    "reasoning_tokens": "think",
}


def expand_grid(config: RunConfig) -> tuple[RunConfig, ...]:
    """Return a config per combination of listed sampling values; the configs differ in name and, if set, ``out``."""
    sampling = config.generation.sampling
    varied = _varied_parameters(sampling) if config.samples.source == "model" else ()
    if not varied:
        return (config,)
    runs = []
    for values in itertools.product(*(getattr(sampling, name) for name in varied)):
        label = "-".join(f"{_SHORT[name]}{value}" for name, value in zip(varied, values, strict=True))
        chosen = sampling.model_copy(update=dict(zip(varied, values, strict=True)))
        generation = config.generation.model_copy(update={"sampling": chosen})
        out = f"{config.out}/{label}" if config.out else ""
        changes = {"name": f"{config.name}+{label}", "out": out, "generation": generation}
        runs.append(config.model_copy(update=changes))
    return tuple(runs)


def _varied_parameters(config: SamplingConfig) -> tuple[str, ...]:
    return tuple(name for name in _SHORT if isinstance(getattr(config, name), tuple))
