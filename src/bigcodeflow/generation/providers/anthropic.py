"""Anthropic's Messages API, over HTTP: the SDK's typed methods have no sampling parameters any more."""

# ruff: noqa: ARG002 (every provider has the same signatures)

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bigcodeflow.generation.model_api import (
    Answer,
    FinishReason,
    PromptForm,
    Reply,
    Request,
    RequestError,
    Sampling,
    TokenUsage,
)
from bigcodeflow.generation.providers.base import (
    Endpoint,
    given_fields,
    merged,
    one_answer,
    other_form,
    turns,
    unset,
    untaken,
)
from bigcodeflow.generation.providers.http_client import NO_KEY, HttpClient, decoded

_ADDRESS = "https://api.anthropic.com"
# From the version of 2026-10-21 on temperature, top_p and top_k are refused for every
# model; this one takes them for those models that know them.
_API_VERSION = "2023-06-01"
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)")
_NEWEST = re.compile(r"claude-(fable|mythos)")
_ONE_OF_TEMPERATURE_AND_TOP_P = (4, 1)
_ADAPTIVE = (4, 6)
"""Thinks by effort, and continues no prefilled answer."""
_WITHOUT_SAMPLING = (4, 7)
_SMALLEST_BUDGET = 1024
_FINISH_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicProvider:
    """Messages, one answer a request."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._version = _version(endpoint.model)
        self.http = HttpClient(
            endpoint, _ADDRESS, {"x-api-key": endpoint.api_key or NO_KEY, "anthropic-version": _API_VERSION}
        )

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None, samples: int) -> Sequence[str]:
        """What Anthropic or the model's version does not take."""
        model = self._endpoint.model
        lines = one_answer(samples, "Anthropic") + other_form(form, ["chat", "prefill"], "Anthropic")
        if sampling.max_tokens is None:
            lines.append("generation.sampling.max_tokens: Anthropic needs a number; such as 4096")
        if seed is not None:
            lines.append(unset("sampling.seed", "Anthropic takes none"))
        lines += untaken(sampling, dict.fromkeys(("frequency_penalty", "presence_penalty"), "Anthropic takes none"))
        if any(not text.strip() for text in sampling.stop):
            lines.append("generation.sampling.stop: Anthropic takes no text of white space alone; remove it")
        if form == "prefill" and self._version >= _ADAPTIVE:
            lines.append(f"generation.prompt.form: {model} does not continue a begun answer; set it to chat")
        return lines + self._sampling_problems(sampling) + self._thinking_problems(sampling, form)

    def _sampling_problems(self, sampling: Sampling) -> list[str]:
        model = self._endpoint.model
        if self._version >= _WITHOUT_SAMPLING:
            return untaken(sampling, dict.fromkeys(("temperature", "top_p", "top_k"), f"{model} takes none"))
        lines = []
        if sampling.temperature is not None and sampling.temperature > 1:
            lines.append("generation.sampling.temperature: Anthropic takes 0 to 1; lower it")
        if self._version >= _ONE_OF_TEMPERATURE_AND_TOP_P and sampling.temperature is not None:
            lines += untaken(sampling, {"top_p": f"{model} takes temperature or top_p, not both"})
        return lines

    def _thinking_problems(self, sampling: Sampling, form: PromptForm) -> list[str]:
        budget, effort = sampling.reasoning_tokens, sampling.reasoning_effort
        lines = []
        if effort is not None and self._version < _ADAPTIVE:
            reason = f"{self._endpoint.model} takes a budget, generation.sampling.reasoning_tokens"
            lines.append(unset("sampling.reasoning_effort", reason))
        if budget:
            lines += self._budget_problems(budget, sampling)
        if effort is None and not budget:
            return lines
        if effort is not None and budget is not None:
            lines.append(unset("sampling.reasoning_tokens", "either a budget or reasoning_effort is taken"))
        if sampling.temperature not in {None, 1} and self._version < _WITHOUT_SAMPLING:
            lines.append(unset("sampling.temperature", "only 1 is taken while the model thinks"))
        if self._version < _WITHOUT_SAMPLING:
            lines += untaken(sampling, {"top_k": "not taken while the model thinks"})
        if form == "prefill":
            lines.append("generation.prompt.form: no begun answer is taken while the model thinks; set it to chat")
        return lines

    def _budget_problems(self, budget: int, sampling: Sampling) -> list[str]:
        name = "generation.sampling.reasoning_tokens"
        if self._version >= _WITHOUT_SAMPLING:
            reason = f"{self._endpoint.model} takes no budget, but generation.sampling.reasoning_effort"
            return [unset("sampling.reasoning_tokens", reason)]
        if budget < _SMALLEST_BUDGET:
            return [f"{name}: Anthropic takes {_SMALLEST_BUDGET} or more; raise it, or set it to 0"]
        if sampling.max_tokens is not None and budget >= sampling.max_tokens:
            return [f"{name}: must be below max_tokens, which counts reasoning too; raise max_tokens"]
        return []

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """White space at the end of a begun answer is refused, and effort switches thinking on."""
        lines = []
        if form == "prefill":
            lines.append("prefill: sent without white space at its end, which Anthropic refuses")
        if sampling.reasoning_effort is not None:
            lines.append("reasoning_effort: sent as output_config.effort, with adaptive thinking switched on")
        return lines

    def body(self, request: Request) -> Mapping[str, Any]:
        """The JSON of the request."""
        sampling = request.sampling
        system = "\n\n".join(message.text for message in request.prompt.messages if message.role == "system")
        messages = [turn for turn in turns(request) if turn["role"] != "system"]
        if request.prompt.form == "prefill":
            messages[-1]["content"] = messages[-1]["content"].rstrip()
        names = {name: name for name in ("max_tokens", "temperature", "top_p", "top_k")} | {"stop_sequences": "stop"}
        body = {
            "model": self._endpoint.model,
            "messages": messages,
            **({"system": system} if system else {}),
            **given_fields(request, names),
            **_thinking(sampling),
        }
        return merged(body, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send the body as it stands."""
        response = await self.http.send("POST", "/v1/messages", self.body(request))
        return message_reply(decoded(response.text), request_id=response.headers.get("request-id"))

    async def close(self) -> None:
        """Give connections back."""
        await self.http.close()


def message_reply(data: Mapping[str, Any], *, request_id: str | None = None) -> Reply:
    """A message as `Reply`.

    Raises:
        RequestError: it is none.
    """
    try:
        blocks = data["content"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        reasoning = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        reason = _FINISH_REASONS.get(data.get("stop_reason") or "", "other")
        usage = _usage(data.get("usage") or {})
    except (AttributeError, KeyError, TypeError) as error:
        raise RequestError("malformed", f"the answer has not the form of a message: {error!r}") from None
    answer = Answer(text, reason, reasoning)
    return Reply((answer,), usage, served_model=data.get("model"), request_id=request_id or data.get("id"))


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    # input_tokens counts neither what a cache held nor what was written to one.
    cached, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    prompt = usage.get("input_tokens")
    return TokenUsage(
        None if prompt is None else prompt + (cached or 0) + (written or 0),
        usage.get("output_tokens"),
        (usage.get("output_tokens_details") or {}).get("thinking_tokens"),
        cached,
    )


def _thinking(sampling: Sampling) -> dict[str, Any]:
    if sampling.reasoning_effort is not None:
        # Models from 4.7 on leave their reasoning out of the answer unless a summary is asked for.
        thinking = {"type": "adaptive", "display": "summarized"}
        return {"thinking": thinking, "output_config": {"effort": sampling.reasoning_effort}}
    if sampling.reasoning_tokens is None:
        return {}
    if sampling.reasoning_tokens == 0:
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled", "budget_tokens": sampling.reasoning_tokens}}


def _version(model: str) -> tuple[int, int]:
    """Version of a Claude model by its name; (0, 0) for others, of which nothing is known."""
    if _NEWEST.search(model):
        return (99, 0)
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)
