"""Settings of generation: model, prompt, sampling, requests and loading; and the sha256 of a prompt's template."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from bigcodeflow.core.settings import Address, SettingsModel

#: Every way of asking; `auto` is settled to one of them before a prompt is made.
FORMS = ("chat", "prefill", "direct")
INSTRUCTION_PREFIX = (
    "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
)
RESPONSE_PREFIX = (
    "Below is a Python script with a self-contained function that solves the problem and passes corresponding tests:"
)
FENCE = "```"
#: The original's limit of an answer, in tokens.
_ORIGINALS_MAX_TOKENS = 1280
#: Models that reason unless they are told not to, by provider and name.
_REASONING = re.compile(
    r"(openai|openai-responses|azure):(o\d|gpt-5(-(mini|nano|pro|codex|\d{4}).*)?$|gpt-([6-9]|\d\d))"
    r"|(anthropic|bedrock):.*claude-(fable|mythos|(opus|sonnet|haiku)-([5-9]|\d\d)(?!\d))"
    r"|(google|vertex):gemini-(2\.5-(pro|flash(?!-lite))|[3-9])"
    r"|mistral:magistral"
    r"|[\w-]+:.*(deepseek-r1|deepseek-reasoner|gpt-oss|qwq|[-_.](thinking|reasoning)\b)",
    re.IGNORECASE,
)


class SamplingConfig(SettingsModel):
    """Sampling parameters of the model. A list makes a grid: every combination is a setting of its own.

    What is left empty is not sent, and the provider decides.
    """

    temperature: float | tuple[float, ...] | None = 0.0
    """Temperature of sampling; 0 is greedy."""
    top_p: float | tuple[float, ...] | None = None
    """Empty takes the original's: 0.95 where the temperature is above 0, nothing where it is 0."""
    top_k: int | tuple[int, ...] | None = None
    """Sample among the so many most likely tokens only."""
    max_tokens: int | tuple[int, ...] | None = _ORIGINALS_MAX_TOKENS
    """Tokens of an answer. The original's 1280 would cut off models that reason: they get reasoning_max_tokens."""
    seed: int | None = None
    """Seed of the first sample of each task; each further sample gets the next number."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer; further ones belong to the prompt's form."""
    frequency_penalty: float | tuple[float, ...] | None = None
    """Make words less likely the more often they were used."""
    presence_penalty: float | tuple[float, ...] | None = None
    """Make words less likely once they were used."""
    reasoning_effort: str | tuple[str, ...] | None = None
    """Effort of a model that reasons, such as low, medium or high."""
    reasoning_tokens: int | tuple[int, ...] | None = None
    """Budget of tokens for reasoning; 0 switches it off where the provider can."""


class PromptConfig(SettingsModel):
    """Prompt: its form, and the texts around the task."""

    form: Literal["auto", "chat", "prefill", "direct"] = "auto"
    """'chat' asks; 'prefill' also begins the answer; 'direct' lets the model continue the task's code, as base models
    do. 'auto' takes what the original does: prefill for open models that run here, chat for the others."""
    system: str = ""
    """System prompt; the original has none."""
    instruction_prefix: str = ""
    """Sentence in front of the task; empty takes the original's."""
    response_prefix: str = ""
    """Beginning of the answer where the form is prefill; empty takes the original's."""
    stop: tuple[str, ...] = ()
    """Texts at which code ends where the form is direct; empty takes the original's, such as the next 'def'."""


class RequestsConfig(SettingsModel):
    """Limits of requests: rate, deadline, retries and cost. None of these settings changes an answer."""

    concurrency: int = Field(default=64, ge=1, le=4096)
    """Requests under way at once; fewer while the provider says that it is too much."""
    requests_per_minute: int = Field(default=0, ge=0)
    """Requests a minute at most; 0 sets no limit."""
    tokens_per_minute: int = Field(default=0, ge=0)
    """Tokens a minute at most, of prompts and answers; an answer counts as max_tokens beforehand. 0 sets no limit."""
    timeout_seconds: float = Field(default=600.0, gt=0, le=86_400)
    """Deadline of one request."""
    attempts: int = Field(default=8, ge=1, le=1000)
    """Requests for one answer, the first included, before its sample is given up for this run."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """Stop asking when the answers of this run have cost so much, in USD; answers that came are kept."""
    prices: str = ""
    """YAML file with your own prices, in the form of configs/prices/published.yaml; they come before the shipped."""
    first_contact_seconds: float = Field(default=30.0, gt=0, le=86_400)
    """Give up a provider that could not be reached within this time; raise it for a server that is still starting."""
    limit_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """Name of max_tokens in requests of OpenAI's protocol; 'auto' takes the other name where a server refuses one."""
    shared_limit: str = ""
    """Name of a global concurrency limit in Prefect that all runs share; empty shares none."""
    batch: bool = False
    """Use the provider's batch API, at half price and within 24 hours, where it has one."""


class OfflineConfig(SettingsModel):
    """Loading of a model on this machine; for the providers vllm, vllm-server and transformers."""

    environment: str = ""
    """Environment with the engine, see `bigcodeflow env list`; empty takes the provider's, for GPUs if that is built,
    else the one for the CPU."""
    download: bool = False
    """Fetch the model from the hub where it is not on this machine."""
    revision: str = ""
    """Commit, tag or branch of the model's repository."""
    tokenizer: str = ""
    """Another tokenizer than the model's own."""
    dtype: str = "auto"
    """Type of the weights, such as bfloat16 or float32; 'auto' takes the model's."""
    tensor_parallel: int = Field(default=1, ge=1, le=1024)
    """GPUs that share the model."""
    max_model_tokens: int = Field(default=0, ge=0)
    """Longest prompt with its answer; 0 takes the model's own."""
    memory_share: float = Field(default=0.9, gt=0, le=1)
    """Share of a GPU's memory for vLLM; without effect on the CPU."""
    lora: str = ""
    """Folder or repository of a LoRA adapter."""
    trust_remote_code: bool = False
    """Execute Python code that the model's repository brings. It can harm this machine."""
    batch_size: int = Field(default=0, ge=0, le=65_536)
    """Prompts in one batch; 0 leaves it to the engine."""


class GenerationConfig(SettingsModel):
    """Model to ask. Naming it is enough, unless samples.source names other samples."""

    model: str = ""
    """PROVIDER:NAME, such as openai:gpt-4o. Providers: openai (and every server that speaks its protocol),
    openai-responses, azure, anthropic, bedrock, google, vertex, mistral, ollama, huggingface; vllm, vllm-server and
    transformers load the model here."""
    base_url: Address = ""
    """Address of a server that speaks the provider's protocol, such as http://127.0.0.1:8000/v1; empty: its own."""
    api_key_variable: str = ""
    """Environment variable that holds the key; empty takes the provider's usual one. The key itself is never stored."""
    n_samples: int = Field(default=1, ge=1, le=100_000)
    """Answers to each task. Raise it later to add to the answers of an earlier run."""
    samples_per_request: int = Field(default=1, ge=1, le=1024)
    """Answers that one request asks for, where the provider can; saves prompt tokens."""
    prompt: PromptConfig = PromptConfig()
    """Prompt: its form, and the texts around the task."""
    sampling: SamplingConfig = SamplingConfig()
    """Sampling parameters, such as temperature and max_tokens."""
    reasoning_max_tokens: int = Field(default=32_000, ge=0)
    """Takes the place of sampling.max_tokens where that is left at 1280 and the model reasons; 0 leaves 1280."""
    unanswerable: Literal["stop", "fail"] = "stop"
    """Samples that can never be answered, since the prompt is longer than the model can take: 'stop' ends the run with
    an error, 'fail' counts them as failed answers."""
    rounds: int = Field(default=1, ge=1, le=10)
    """Maximum number of rounds: an answer that failed is asked for again with feedback. Scores are those of the first
    round; see docs/rounds.md."""
    feedback: Literal["failed", "tests", "traceback"] = "traceback"
    """Feedback for an answer that failed: 'failed' says only that it did, 'tests' names the test methods that fail,
    'traceback' adds their traces. Never the tests' text."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request, sent as they are."""
    requests: RequestsConfig = RequestsConfig()
    """Limits of requests: rate, deadline, retries and cost."""
    offline: OfflineConfig = OfflineConfig()
    """Loading of the model on this machine, for vllm, vllm-server and transformers."""

    @model_validator(mode="before")
    @classmethod
    def _reasoning_gets_room(cls, given: Any) -> Any:
        # Here, and not where the model is asked: keys hold the limit that counts.
        if not isinstance(given, Mapping):
            return given
        sampling = given.get("sampling") or {}
        values = dict(sampling) if isinstance(sampling, Mapping | SamplingConfig) else None
        room = given.get("reasoning_max_tokens", cls.model_fields["reasoning_max_tokens"].default)
        if values is None or values.get("max_tokens", _ORIGINALS_MAX_TOKENS) != _ORIGINALS_MAX_TOKENS:
            return given
        if not room or not isinstance(room, int) or not _reasons(str(given.get("model", "")), values):
            return given
        return {**given, "sampling": {**values, "max_tokens": room}}

    @field_validator("model")
    @classmethod
    def _names_a_provider(cls, model: str) -> str:
        provider, separator, name = model.partition(":")
        if model and not (separator and provider and name):
            raise ValueError("must be PROVIDER:NAME, such as openai:gpt-4o or vllm:Qwen/Qwen2.5-Coder-7B-Instruct")
        return model


def _reasons(model: str, sampling: Mapping[str, Any]) -> bool:
    """Return True for a reasoning model: settings of reasoning in ``sampling`` decide, else the model's name."""
    effort, budget = sampling.get("reasoning_effort"), sampling.get("reasoning_tokens")
    if effort is not None or budget is not None:
        return bool(budget) or effort not in (None, "none")
    return _REASONING.match(model) is not None


def template_sha256(split: str, form: str, config: PromptConfig) -> str:
    """Return the sha256 of all parts of a prompt except the task's own text."""
    texts = {
        "split": split,
        "form": form,
        "system": config.system,
        "instruction_prefix": config.instruction_prefix or INSTRUCTION_PREFIX,
        "beginning": answer_beginning(config) if form == "prefill" else "",
    }
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def answer_beginning(config: PromptConfig) -> str:
    """Return the text that a prompt of the form `prefill` gives as the beginning of the model's answer."""
    return f"{config.response_prefix or RESPONSE_PREFIX}\n{FENCE}python\n"
