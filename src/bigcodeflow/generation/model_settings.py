"""How a model is asked: the original's prompts to the letter, what identifies its answers, requests, and grids.

Prompts have three forms. 'chat' asks for a program in a code block. 'prefill' asks the same and begins the answer, so
that the model goes on inside the block. 'direct' hands over the code to be completed, for models that were not trained
to talk.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bigcodeflow.config import GenerationConfig, PromptConfig, RunConfig, SamplingConfig, Split
from bigcodeflow.config.generation import FENCE, INSTRUCTION_PREFIX, answer_beginning, template_sha256
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_api import Message, Prompt, PromptForm, Request, Sampling

#: The original's ends of an answer for models that it runs itself; APIs for chats get none.
_STOPS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
_STOPS_OF_FORM: Mapping[PromptForm, tuple[str, ...]] = {
    "chat": (),
    "prefill": (*_STOPS, f"\n{FENCE}\n"),
    "direct": (*_STOPS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
}


def prompt_of(task: Mapping[str, Any], split: Split, form: PromptForm, config: PromptConfig) -> Prompt:
    """The prompt of a task.

    Args:
        task: a row of the TASKS schema.
        split: whether the task is told with its docstring or in prose.
        form: how the model is asked.
        config: the texts around the task; empty ones are the original's.
    """
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


def stops_of(form: PromptForm) -> tuple[str, ...]:
    """Texts that end an answer of this form, as in the original."""
    return _STOPS_OF_FORM[form]


def check_form(split: Split, form: PromptForm) -> None:
    """Refuse what no model can do.

    Raises:
        ConfigError: prose cannot be continued as code.
    """
    if form == "direct" and split == "instruct":
        raise ConfigError(
            "generation.prompt.form 'direct' continues code, and dataset.split 'instruct' has none to continue: "
            "take dataset.split complete, or the form chat"
        )


def raw_text(prompt: Prompt, answer: str) -> str:
    """What the sanitizer reads: with the form 'direct' the answer goes on where the prompt ends."""
    return prompt.text + answer if prompt.form == "direct" else answer


#: The original's nucleus wherever it does not take the likeliest word.
_TOP_P = 0.95
#: How a model is loaded where that may change what it answers.
_LOADED = {"revision", "tokenizer", "dtype", "lora", "max_model_tokens"}
#: The same, left out where they are empty: answers that were paid for keep the folder that they are in.
_LOADED_OTHERWISE = ("environment", "trust_remote_code")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How every task is asked."""

    split: Split
    form: PromptForm
    sampling: Sampling
    config: GenerationConfig
    notes: tuple[str, ...] = ()
    """What is done differently from what the configuration says, one line each."""

    def requests(self, tasks: Iterable[Mapping[str, Any]]) -> Iterator[Request]:
        """The requests for every sample of the tasks, task by task.

        Args:
            tasks: rows of the TASKS schema.
        """
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


def provider_and_model(config: GenerationConfig) -> tuple[str, str]:
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
    return Sampling(**given, stop=tuple(dict.fromkeys((*config.stop, *stops_of(form)))))


def soft_parameters(config: SamplingConfig) -> Iterator[str]:
    """Parameters that stand for the original's defaults: where a model takes none, its own holds, which is said."""
    if config.top_p is None and config.temperature:
        yield "top_p"
    if config.temperature == 0.0:
        yield "temperature"


#: Short names of what a grid may vary, for names of runs and folders.
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
    """The run of each combination of the listed values, with a name of its own, and a folder where one is named."""
    sampling = config.generation.sampling
    varied = varied_parameters(sampling) if config.samples.source == "model" else ()
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


def varied_parameters(config: SamplingConfig) -> tuple[str, ...]:
    """Names of the parameters that are lists."""
    return tuple(name for name in _SHORT if isinstance(getattr(config, name), tuple))
