"""OpenAI's Responses API over HTTP: stateless, with a summary of the reasoning if the model gives it."""

# ruff: noqa: ARG002 (every provider has the same signatures)

from collections.abc import Mapping
from math import inf
from typing import Any

from bigcodeflow.generation.model_api import Answer, FinishReason, Request, RequestError, TokenUsage
from bigcodeflow.generation.providers import Endpoint, given_fields, merged, system_prompt, turns
from bigcodeflow.generation.providers.chat_completions import OpenAIProvider
from bigcodeflow.generation.providers.http_client import ensure_ok

_INCOMPLETE: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "refusal"}
_MISSING = ("top_k", "frequency_penalty", "presence_penalty", "reasoning_tokens", "stop", "seed")


class ResponsesProvider(OpenAIProvider):
    """Provider for the Responses API, with one answer per request."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.label, self.forms, self.most_stops = "the Responses API", ["chat"], inf
        self.not_taken = dict.fromkeys(_MISSING, "the Responses API has no such parameter")

    def notes(self, request: Request) -> list[str]:
        return ["Responses: sent with store false, so that OpenAI keeps no copy for later turns"]

    _summarizes = True

    def adapt(self, body: Mapping[str, Any], error: RequestError) -> str:
        """If ``error`` refuses reasoning summaries, stop asking for them and return a notice; otherwise return ''."""
        asked = isinstance(body.get("reasoning"), Mapping) and body["reasoning"].get("summary")
        if not asked or error.kind != "bad_request" or "reasoning.summary" not in str(error):
            return ""
        self._summarizes = False
        return "OpenAI refuses reasoning summaries to this organization: later requests ask for none"

    def path(self, request: Request) -> str:
        return "/responses"

    def body(self, request: Request) -> Mapping[str, Any]:
        system, sampling = system_prompt(request), request.sampling
        body: dict[str, Any] = {"model": self.endpoint.model}
        if system:
            body["instructions"] = system
        body["input"] = [turn for turn in turns(request) if turn["role"] != "system"]
        body |= given_fields(request, ("temperature", "top_p", "max_tokens"), max_tokens="max_output_tokens")
        if sampling.reasoning_effort is not None:
            body["reasoning"] = {"effort": sampling.reasoning_effort}
            if self._summarizes:
                body["reasoning"]["summary"] = "auto"
        return merged(body | {"store": False}, request.extra_body)

    def parsed(self, data: Mapping[str, Any]) -> tuple[tuple[Answer, ...], TokenUsage]:
        """Return the answer and tokens of a response; raise RequestError for a failed response."""
        ensure_ok(data, secret=self.endpoint.api_key)
        status = data.get("status")
        if status in {"failed", "cancelled"}:
            raise RequestError("overloaded", f"the response has no answer, but the status {status!r}")
        given = data.get("usage") or {}
        reasoning = (given.get("output_tokens_details") or {}).get("reasoning_tokens")
        cached = (given.get("input_tokens_details") or {}).get("cached_tokens")
        usage = TokenUsage(given.get("input_tokens"), given.get("output_tokens"), reasoning, cached)
        return (_answer(data["output"], data),), usage


def _answer(items: Any, data: Mapping[str, Any]) -> Answer:
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    text = "".join(part["text"] for part in parts if part["type"] == "output_text")
    refusal = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
    thoughts = [part["text"] for item in items if item["type"] == "reasoning" for part in item.get("summary") or ()]
    reason: FinishReason = "stop"
    if data.get("status") == "incomplete":
        reason = _INCOMPLETE.get((data.get("incomplete_details") or {}).get("reason") or "", "other")
    elif refusal:
        reason = "refusal"
    elif not text and any(str(item["type"]).endswith("_call") for item in items):
        reason = "tool_calls"
    return Answer(text or refusal, reason, "\n\n".join(thoughts))
