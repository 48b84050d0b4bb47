"""What is asked of a model and what comes back, the same for every provider.

A `Request` is one call for one or more samples of a task; a `Reply` is what the provider made of it, with one
`Answer` a sample; a `RequestError` says why there is none and whether asking again may help.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

PromptForm = Literal["chat", "prefill", "direct"]
FinishReason = Literal["stop", "length", "refusal", "tool_calls", "unanswerable", "other"]
ErrorKind = Literal[
    "rate_limited",  # 429: too many requests or tokens for now
    "overloaded",  # 5xx: the provider has no room or is broken for now
    "connection",  # refused, dropped, or half an answer
    "deadline",  # no whole answer in time
    "malformed",  # an answer that is none: no JSON, no choices
    "quota",  # money or quota are used up: waiting does not help
    "authentication",  # wrong, missing or forbidden key
    "bad_request",  # the provider does not take what was sent
    "unanswerable",  # the prompt, or the prompt with its answer, is longer than the model can take
    "not_found",  # no such model or address
    "refused",  # the provider does not answer this content
    "ended",  # the server that was started for the run is gone
]
_WORTH_ANOTHER_TRY = frozenset({"rate_limited", "overloaded", "connection", "deadline", "malformed"})
_CONCERNS_EVERY_REQUEST = frozenset({"quota", "authentication", "not_found", "ended"})
_OPENING_TAG = re.compile(r"\s*<(think|thinking)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    form: PromptForm
    """'chat': turns that end with the user's; 'prefill': turns that end with the beginning of the assistant's, to be
    continued; 'direct': text to be continued, without turns."""
    messages: tuple[Message, ...] = ()
    text: str = ""
    template_sha: str = ""
    """sha256 of what the prompt was made with but the task's own text."""

    @property
    def characters(self) -> int:
        return len(self.text) + sum(len(message.text) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is to choose its words; None leaves a parameter to the provider, which is then not sent."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    """Tokens of an answer, reasoning included where the provider counts so."""
    stop: tuple[str, ...] = ()
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    reasoning_effort: str | None = None
    """Such as 'low', 'medium' or 'high'."""
    reasoning_tokens: int | None = None
    """Budget of tokens for reasoning; 0 switches it off where the provider can."""

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}


@dataclass(frozen=True, slots=True)
class Request:
    task_id: str
    sample_indices: tuple[int, ...]
    """0-based numbers of the samples asked for; more than one only where the provider takes ``n``."""
    prompt: Prompt
    sampling: Sampling
    seed: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields for the provider, sent as they are."""

    @property
    def prompt_sha(self) -> str:
        """sha256 of the prompt's turns or text: what identifies an answer beside the model and its settings."""
        turns = [[message.role, message.text] for message in self.prompt.messages]
        text = json.dumps([self.prompt.form, turns, self.prompt.text], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    finish_reason: FinishReason
    reasoning: str = ""
    """Reasoning that the provider returns apart from the text."""
    error: str = ""
    """Why there is no text, where the request could not be answered."""

    def without_open_thought(self) -> "Answer":
        """The answer as it counts: thoughts that were cut off before a program began are reasoning and no text."""
        tag = _OPENING_TAG.match(self.text)
        if tag is None or f"</{tag[1].lower()}>" in self.text.lower():
            return self
        return replace(self, text="", reasoning=self.reasoning + self.text[tag.end() :])


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a whole reply; None where the provider does not say."""

    prompt_tokens: int | None = None
    """Tokens read, those from a cache included."""
    completion_tokens: int | None = None
    """Tokens written, reasoning included."""
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the tokens read, those that a cache of the provider's held."""


@dataclass(frozen=True, slots=True)
class Reply:
    answers: tuple[Answer, ...]
    """In the order of the request's sample_indices; fewer where the provider returned fewer."""
    usage: TokenUsage
    served_model: str | None = None
    """The model as the provider names it."""
    request_id: str | None = None
    """What to name to the provider's support."""


class RequestError(Exception):
    """A request without an answer. Its text holds no secret: it is stored and shown."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        reached: bool | None = None,
    ) -> None:
        """``reached`` tells whether an API answered, be it with an error; None takes it from the kind."""
        super().__init__(message)
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds
        self.reached = kind != "connection" if reached is None else reached

    @property
    def worth_another_try(self) -> bool:
        return self.kind in _WORTH_ANOTHER_TRY

    @property
    def concerns_every_request(self) -> bool:
        """Whether no other request can succeed either, so that a run is to stop at once."""
        return self.kind in _CONCERNS_EVERY_REQUEST


def finish_reason(given: str | None) -> FinishReason:
    """The reason of a server or engine that calls the two common ones as this module does."""
    return "stop" if given == "stop" else "length" if given == "length" else "other"
