"""Replies in the form of OpenAI's completions, which most servers and gateways speak, each with fields of its own."""

import json
from collections.abc import Mapping
from typing import Any

from bigcodeflow.generation.model_api import Answer, FinishReason, Reply, RequestError, TokenUsage
from bigcodeflow.generation.providers.faults import ensure_ok

_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
# The provider broke off: what it sent is no answer of the model's and would count as a failure of the model's.
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})


def decoded(text: str) -> dict[str, Any]:
    """The JSON object that an answer is.

    Raises:
        RequestError: it is none.
    """
    try:
        data = json.loads(text)
    except ValueError:
        raise RequestError("malformed", f"the answer is no JSON: {text[:80]!r}") from None
    if not isinstance(data, dict):
        raise RequestError("malformed", f"the answer is a JSON {type(data).__name__}, not an object")
    return data


def completion_reply(data: Mapping[str, Any], *, request_id: str | None = None, secret: str = "") -> Reply:
    """A chat completion or a text completion as `Reply`.

    Args:
        data: the decoded answer.
        request_id: from the headers; None takes the answer's own id.
        secret: a key that no message may hold.

    Raises:
        RequestError: there is no answer in it.
    """
    choices = data.get("choices")
    if not choices:
        ensure_ok(data, secret=secret)
        raise RequestError("malformed", "the answer holds no choices")
    try:
        answers = tuple(_answer(choice) for choice in sorted(choices, key=lambda choice: choice.get("index") or 0))
        usage = completion_usage(data.get("usage") or {})
    except (AttributeError, KeyError, TypeError) as error:
        raise RequestError("malformed", f"the answer has not the form of a completion: {error}") from None
    return Reply(answers, usage, served_model=data.get("model"), request_id=request_id or data.get("id"))


def completion_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """Tokens of a completion; some servers leave reasoning out of completion_tokens, which the total gives away."""
    prompt, completion, total = (usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total"))
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    if reasoning and prompt is not None and completion is not None and total == prompt + completion + reasoning:
        completion += reasoning
    return TokenUsage(prompt, completion, reasoning, cached)


def _answer(choice: Mapping[str, Any]) -> Answer:
    finish = choice.get("finish_reason") or ""
    if finish in _BROKEN_OFF:
        raise RequestError("overloaded", f"the provider broke the answer off: finish_reason {finish!r}")
    reason: FinishReason = _FINISH_REASONS.get(finish, "other")
    if "text" in choice:
        return Answer(choice["text"] or "", reason)
    message = choice["message"]
    text, thoughts = content_parts(message.get("content"))
    reasoning = message.get("reasoning_content") or message.get("reasoning") or thoughts
    if message.get("refusal"):
        return Answer(text or message["refusal"], "refusal", reasoning)
    return Answer(text, reason, reasoning)


def content_parts(content: Any) -> tuple[str, str]:
    """Text and reasoning of a message whose content is a string or a list of typed parts."""
    if content is None or isinstance(content, str):
        return content or "", ""
    text = "".join(part["text"] for part in content if part["type"] == "text")
    thoughts = (part["thinking"] for part in content if part["type"] == "thinking")
    return text, "".join(thought if isinstance(thought, str) else content_parts(thought)[0] for thought in thoughts)
