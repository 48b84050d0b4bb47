"""Requests to a model and their replies, the same for every provider.

A `Request` asks for one or more samples of a task; a `Reply` is the provider's response, with an `Answer` for each
sample; a `RequestError` says why there is no reply, and if another try may help.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

PromptForm = Literal["chat", "prefill", "direct"]
FinishReason = Literal["stop", "length", "refusal", "tool_calls", "unanswerable", "other"]
ErrorKind = Literal[
    "rate_limited",  # 429: too many requests or tokens for now
    "overloaded",  # 5xx: the provider has no room or is broken for now
    "connection",  # refused, dropped, or half an answer
    "deadline",  # no whole answer in time
    "malformed",  # an unusable answer: no JSON, no choices
    "quota",  # money or quota are used up: waiting does not help
    "authentication",  # wrong, missing or forbidden key
    "bad_request",  # the provider does not accept what was sent
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
    """'chat': turns that end with a user turn; 'prefill': turns that end with the beginning of an assistant turn, to be
    continued; 'direct': text to be continued, without turns."""
    messages: tuple[Message, ...] = ()
    text: str = ""
    template_sha: str = ""
    """sha256 of everything from which the prompt was made, except the task's own text."""

    @property
    def characters(self) -> int:
        return len(self.text) + sum(len(message.text) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of a model; a parameter that is None is not sent, so the provider's default applies."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    """Maximum tokens of an answer, including reasoning if the provider counts it."""
    stop: tuple[str, ...] = ()
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    reasoning_effort: str | None = None
    """Effort of reasoning, such as 'low', 'medium' or 'high'."""
    reasoning_tokens: int | None = None
    """Maximum tokens for reasoning; 0 switches reasoning off if the provider supports that."""

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}


class AnswerKey(NamedTuple):
    """Key of an answer within the ledger of one setting (model, prompt, sampling)."""

    task_id: str
    prompt_sha: str
    sample_index: int


@dataclass(frozen=True, slots=True)
class Request:
    task_id: str
    sample_indices: tuple[int, ...]
    """0-based numbers of the requested samples; several samples only if the provider accepts ``n``."""
    prompt: Prompt
    sampling: Sampling
    seed: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields for the provider, sent unchanged."""

    @property
    def prompt_sha(self) -> str:
        """sha256 of the prompt's form, messages and text; part of the identity of an answer (`AnswerKey`)."""
        turns = [[message.role, message.text] for message in self.prompt.messages]
        text = json.dumps([self.prompt.form, turns, self.prompt.text], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def keys(self) -> list[AnswerKey]:
        """Keys of the requested answers, without duplicates."""
        sha = self.prompt_sha
        return [AnswerKey(self.task_id, sha, index) for index in dict.fromkeys(self.sample_indices)]


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    finish_reason: FinishReason
    reasoning: str = ""
    """Reasoning that the provider returns separately from the text."""
    error: str = ""
    """Reason why there is no text, if the request could not be answered."""

    def without_open_thought(self) -> "Answer":
        """Return the answer, with its text moved to ``reasoning`` if the text begins with an unclosed <think> tag."""
        tag = _OPENING_TAG.match(self.text)
        if tag is None or f"</{tag[1].lower()}>" in self.text.lower():
            return self
        return replace(self, text="", reasoning=self.reasoning + self.text[tag.end() :])


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Token counts of a whole reply; a count is None if the provider does not state it."""

    prompt_tokens: int | None = None
    """Tokens read, including those from a cache."""
    completion_tokens: int | None = None
    """Tokens written, including reasoning."""
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    """Tokens read from a cache of the provider, a part of prompt_tokens."""


@dataclass(frozen=True, slots=True)
class Reply:
    answers: tuple[Answer, ...]
    """Answers in the order of the request's sample_indices; fewer if the provider returned fewer."""
    usage: TokenUsage
    served_model: str | None = None
    """Name of the model as the provider states it."""
    request_id: str | None = None
    """ID to give to the provider's support."""


class RequestError(Exception):
    """Error of a request without an answer. Its text contains no secret, because it is stored and shown."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        reached: bool | None = None,
    ) -> None:
        """Make the error; ``reached`` tells if an API answered; the default is True except for kind 'connection'."""
        super().__init__(message)
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds
        self.reached = kind != "connection" if reached is None else reached

    @property
    def worth_another_try(self) -> bool:
        return self.kind in _WORTH_ANOTHER_TRY

    @property
    def concerns_every_request(self) -> bool:
        """True if no other request can succeed either, so that a run must stop at once."""
        return self.kind in _CONCERNS_EVERY_REQUEST


def finish_reason(given: str | None) -> FinishReason:
    """Return ``given``, the reason from a server or engine, if it is 'stop' or 'length'; else return 'other'."""
    return "stop" if given == "stop" else "length" if given == "length" else "other"
