"""Anthropic's Messages API over HTTP, because the SDK's typed methods lack sampling parameters."""

# ruff: noqa: ARG002 (every provider has the same signatures)

import re
from collections.abc import Mapping
from typing import Any

from bigcodeflow.generation.model_api import Answer, FinishReason, Request, Sampling, TokenUsage
from bigcodeflow.generation.providers import Endpoint, given_fields, merged, system_prompt, turns, untaken
from bigcodeflow.generation.providers.http_client import NO_KEY, HttpProvider

# API versions from 2026-10-21 on refuse temperature, top_p and top_k for every model;
# this version accepts them for the models that support them.
_API_VERSION = "2023-06-01"
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)")
_NEWEST = re.compile(r"claude-(fable|mythos)")
_ONE_OF_TEMPERATURE_AND_TOP_P = (4, 1)
_ADAPTIVE = (4, 6)
"""First version of Claude whose thinking is set by an effort, and which does not continue a prefilled answer."""
_WITHOUT_SAMPLING = (4, 7)
_SMALLEST_BUDGET = 1024
#: Finish reasons by Anthropic's stop_reason; Bedrock uses the same and some more.
FINISH_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "tool_calls",
}


def claude_version(model: str) -> tuple[int, int]:
    """Return major and minor version in a Claude model's name; (99, 0) for Fable and Mythos, (0, 0) for other names."""
    if _NEWEST.search(model):
        return (99, 0)
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def sampling_problems(request: Request, model: str) -> list[str]:
    """Return messages about values of temperature, top_p and top_k that a Claude model refuses, at any provider."""
    version, temperature = claude_version(model), request.sampling.temperature
    if version >= _WITHOUT_SAMPLING:
        return untaken(request, dict.fromkeys(("temperature", "top_p", "top_k"), f"{model} takes none"))
    lines = []
    if temperature is not None and temperature > 1:
        lines.append("generation.sampling.temperature: Anthropic takes 0 to 1; lower it")
    if version >= _ONE_OF_TEMPERATURE_AND_TOP_P and temperature is not None:
        lines += untaken(request, {"top_p": f"{model} takes temperature or top_p, not both"})
    return lines


class AnthropicProvider(HttpProvider):
    """Provider for the Messages API, with one answer per request."""

    address = "https://api.anthropic.com"
    label = "Anthropic"
    forms = ("chat", "prefill")
    not_taken: Mapping[str, str] = dict.fromkeys(
        ("seed", "frequency_penalty", "presence_penalty"), "Anthropic takes none"
    )
    request_id_header = "request-id"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, {"x-api-key": endpoint.api_key or NO_KEY, "anthropic-version": _API_VERSION})
        self._version = claude_version(endpoint.model)

    def problems(self, request: Request) -> list[str]:
        sampling, model = request.sampling, self.endpoint.model
        lines = super().problems(request)
        if sampling.max_tokens is None:
            lines.append("generation.sampling.max_tokens: Anthropic needs a number; set it, for instance to 4096")
        if any(not text.strip() for text in sampling.stop):
            lines.append("generation.sampling.stop: Anthropic takes no text of white space alone; remove it")
        if request.prompt.form == "prefill" and self._version >= _ADAPTIVE:
            lines.append(f"generation.prompt.form: {model} does not continue a begun answer; set it to chat")
        return lines + sampling_problems(request, model) + self._thinking_problems(request)

    def _thinking_problems(self, request: Request) -> list[str]:
        sampling, model = request.sampling, self.endpoint.model
        budget, effort = sampling.reasoning_tokens, sampling.reasoning_effort
        name, lines, reasons = "generation.sampling.reasoning_tokens", [], {}
        if self._version < _ADAPTIVE:
            reasons["reasoning_effort"] = f"{model} takes {name} instead"
        if budget and self._version >= _WITHOUT_SAMPLING:
            reasons["reasoning_tokens"] = f"{model} takes no budget, but generation.sampling.reasoning_effort"
        elif budget and budget < _SMALLEST_BUDGET:
            lines.append(f"{name}: Anthropic takes {_SMALLEST_BUDGET} or more; raise it, or set it to 0")
        elif budget and sampling.max_tokens is not None and budget >= sampling.max_tokens:
            lines.append(f"{name}: must be below max_tokens, because max_tokens counts reasoning too; raise max_tokens")
        if effort is None and not budget:
            return lines
        if effort is not None:
            reasons.setdefault("reasoning_tokens", "reasoning_effort is set too, and only one of the two is taken")
        if self._version < _WITHOUT_SAMPLING:
            reasons["top_k"] = "not taken while the model thinks"
            if sampling.temperature != 1:
                reasons["temperature"] = "only 1 is taken while the model thinks"
        if request.prompt.form == "prefill":
            lines.append("generation.prompt.form: no begun answer is taken while the model thinks; set it to chat")
        return lines + untaken(request, reasons)

    def notes(self, request: Request) -> list[str]:
        lines = []
        if request.prompt.form == "prefill":
            lines.append("prefill: sent without white space at its end, which Anthropic refuses")
        if request.sampling.reasoning_effort is not None:
            lines.append("reasoning_effort: sent as output_config.effort, with adaptive thinking switched on")
        return lines

    def body(self, request: Request) -> Mapping[str, Any]:
        system = system_prompt(request)
        messages = [turn for turn in turns(request) if turn["role"] != "system"]
        if request.prompt.form == "prefill":
            messages[-1]["content"] = messages[-1]["content"].rstrip()
        names = ("max_tokens", "temperature", "top_p", "top_k", "stop")
        body = {
            "model": self.endpoint.model,
            "messages": messages,
            **({"system": system} if system else {}),
            **given_fields(request, names, stop="stop_sequences"),
            **_thinking(request.sampling),
        }
        return merged(body, request.extra_body)

    def path(self, request: Request) -> str:
        return "/v1/messages"

    def parsed(self, data: Mapping[str, Any]) -> tuple[tuple[Answer, ...], TokenUsage]:
        blocks, given = data["content"], data.get("usage") or {}
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        reasoning = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        prompt, cached = given.get("input_tokens"), given.get("cache_read_input_tokens")
        if prompt is not None:  # input_tokens excludes tokens that are read from or written to a cache
            prompt += (cached or 0) + (given.get("cache_creation_input_tokens") or 0)
        thinking = (given.get("output_tokens_details") or {}).get("thinking_tokens")
        usage = TokenUsage(prompt, given.get("output_tokens"), thinking, cached)
        return (Answer(text, FINISH_REASONS.get(data.get("stop_reason") or "", "other"), reasoning),), usage


def _thinking(sampling: Sampling) -> dict[str, Any]:
    if sampling.reasoning_effort is not None:
        # Models from 4.7 on omit their reasoning from the answer unless a summary is requested.
        thinking = {"type": "adaptive", "display": "summarized"}
        return {"thinking": thinking, "output_config": {"effort": sampling.reasoning_effort}}
    if sampling.reasoning_tokens is None:
        return {}
    if sampling.reasoning_tokens == 0:
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled", "budget_tokens": sampling.reasoning_tokens}}
