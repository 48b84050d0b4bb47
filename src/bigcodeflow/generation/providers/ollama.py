"""Ollama's own API; its /v1 address is for the provider openai."""

# ruff: noqa: ARG002 (every provider has the same signatures)

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import ollama

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
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.settings import one_answer, turns, untaken
from bigcodeflow.generation.providers.transport import NO_KEY, SHAPE_ERRORS, called, client_settings, merged

_ADDRESS = "http://127.0.0.1:11434"
_FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}


def open_provider(endpoint: Endpoint) -> "OllamaProvider":
    """Connect to the Ollama server here or at the endpoint's address."""
    return OllamaProvider(endpoint)


class OllamaProvider:
    """Chats and, for 'direct', raw continuations."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = _Client(
            endpoint.base_url or _ADDRESS,
            # Without a header the SDK would send the key of the environment to any address.
            headers={"authorization": f"Bearer {endpoint.api_key or NO_KEY}"},
            **client_settings(endpoint, _ADDRESS),
        )
        self._chat_fields = frozenset(inspect.signature(self._client.chat).parameters)
        self._generate_fields = frozenset(inspect.signature(self._client.generate).parameters)

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None, samples: int) -> Sequence[str]:
        """What Ollama does not take."""
        lines = one_answer(samples, "Ollama")
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
        options = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "num_predict": sampling.max_tokens,
            "stop": list(sampling.stop) or None,
            "seed": request.seed,
            "frequency_penalty": sampling.frequency_penalty,
            "presence_penalty": sampling.presence_penalty,
        }
        body: dict[str, Any] = {"model": self._endpoint.model, "stream": False}
        if request.prompt.form == "direct":
            body |= {"prompt": request.prompt.text, "raw": True}
        else:
            body |= {"messages": turns(request), "tools": []}
        if sampling.reasoning_effort is not None or sampling.reasoning_tokens is not None:
            body["think"] = sampling.reasoning_effort or False
        body["options"] = {name: value for name, value in options.items() if value is not None}
        return merged(body, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send through the SDK's methods, which take no fields but those that they know."""
        body = self.body(request)
        direct = request.prompt.form == "direct"
        unknown = sorted(body.keys() - (self._generate_fields if direct else self._chat_fields))
        if unknown:
            known = "Ollama's SDK does not send it"
            raise RequestError("bad_request", f"generation.extra_body: {', '.join(unknown)}: {known}; remove it")
        sending = self._client.generate(**body) if direct else self._client.chat(**body)
        reply = await called(self._endpoint, sending, *SHAPE_ERRORS)
        return _reply(reply)

    async def close(self) -> None:
        """Give connections back."""
        await self._client.close()  # type: ignore[no-untyped-call]


class _Client(ollama.AsyncClient):
    """The SDK's client on the transport of the others.

    Its own takes 50 ms of CPU a request to look through a pool of 150, and its errors have lost the headers.
    """

    def __init__(self, host: str, **settings: Any) -> None:
        super(ollama.AsyncClient, self).__init__(httpx2.AsyncClient, host, **settings)


def _reply(reply: ollama.ChatResponse | ollama.GenerateResponse) -> Reply:
    if not reply.done:
        raise RequestError("malformed", "the answer is not marked as done")
    said = reply if isinstance(reply, ollama.GenerateResponse) else reply.message
    text = said.response if isinstance(said, ollama.GenerateResponse) else said.content
    answer = Answer(text or "", _FINISH_REASONS.get(reply.done_reason or "", "other"), said.thinking or "")
    return Reply((answer,), TokenUsage(reply.prompt_eval_count, reply.eval_count), served_model=reply.model)
