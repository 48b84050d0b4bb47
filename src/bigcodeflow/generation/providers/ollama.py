"""Ollama's own API; its /v1 address is for the provider openai, and takes neither options nor bare text."""

# ruff: noqa: ARG002 (every provider has the same signatures)

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
from bigcodeflow.generation.providers import given_fields, merged, turns, untaken
from bigcodeflow.generation.providers.http_client import HttpProvider

_OPTIONS = {
    **{name: name for name in ("temperature", "top_p", "top_k")},
    "num_predict": "max_tokens",
    **{name: name for name in ("stop", "seed", "frequency_penalty", "presence_penalty")},
}
_FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}


class OllamaProvider(HttpProvider):
    """Chats and, for 'direct', raw continuations."""

    address = "http://127.0.0.1:11434"

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """What Ollama does not take."""
        lines: list[str] = []
        if sampling.reasoning_tokens:
            lines += untaken(sampling, {"reasoning_tokens": "Ollama takes no budget, but 0 or reasoning_effort"})
        if sampling.reasoning_tokens is not None and sampling.reasoning_effort is not None:
            lines += untaken(sampling, {"reasoning_effort": "either it or reasoning_tokens is taken"})
        return lines

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """Ollama shortens long prompts without a word, and continues a begun answer where the template can."""
        lines = [
            "Ollama cuts off prompts beyond its context length; raise it with extra_body {options: {num_ctx: 16384}}"
        ]
        if form == "prefill":
            lines.append("prefill: continued where the model's template can; else a new answer is begun")
        return lines

    def body(self, request: Request) -> Mapping[str, Any]:
        """The JSON of the request."""
        sampling = request.sampling
        body: dict[str, Any] = {"model": self.endpoint.model, "stream": False}
        if request.prompt.form == "direct":
            body |= {"prompt": request.prompt.text, "raw": True}
        else:
            body |= {"messages": turns(request), "tools": []}
        if sampling.reasoning_effort is not None or sampling.reasoning_tokens is not None:
            body["think"] = sampling.reasoning_effort or False
        return merged(body | {"options": given_fields(request, _OPTIONS)}, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send the body as it stands."""
        path = "/api/generate" if request.prompt.form == "direct" else "/api/chat"
        return _reply(await self.http.json("POST", path, self.body(request)))


def _reply(data: Mapping[str, Any]) -> Reply:
    if not data.get("done"):
        raise RequestError("malformed", "the answer is not marked as done")
    try:
        message = data["message"] if "message" in data else {**data, "content": data["response"]}
        finish = _FINISH_REASONS.get(data.get("done_reason") or "", "other")
        answer = Answer(message["content"] or "", finish, message.get("thinking") or "")
    except (AttributeError, KeyError, TypeError) as error:
        raise RequestError("malformed", f"the answer has not the form of Ollama's: {error!r}") from None
    usage = TokenUsage(data.get("prompt_eval_count"), data.get("eval_count"))
    return Reply((answer,), usage, served_model=data.get("model"))
