"""Hugging Face: its router to inference providers, inference endpoints, and TGI servers."""

# ruff: noqa: ARG002 (every provider has the same signatures)

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

import httpx2
from huggingface_hub import AsyncInferenceClient, ChatCompletionOutput

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_api import PromptForm, Reply, Request, Sampling
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.replies import completion_reply
from bigcodeflow.generation.providers.settings import other_form, turns, untaken
from bigcodeflow.generation.providers.transport import NO_KEY, SHAPE_ERRORS, called, http_client, merged

_ADDRESS = "https://router.huggingface.co"


def open_provider(endpoint: Endpoint) -> "HuggingFaceProvider":
    """Connect to Hugging Face's router, or to the server at the endpoint's address.

    Raises:
        ConfigError: the router is asked with another's key.
    """
    if not endpoint.base_url and not endpoint.api_key.startswith("hf_"):
        raise ConfigError("generation.model: huggingface needs a token of Hugging Face's, which begins with hf_")
    return HuggingFaceProvider(endpoint)


class HuggingFaceProvider:
    """Chat completions, several answers a request where the server behind can."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._http = http_client(endpoint, _ADDRESS)
        self._client = _Client(
            self._http,
            base_url=endpoint.base_url or None,
            # Without a token the SDK would send the one saved on this machine to any address.
            token=endpoint.api_key or NO_KEY,
            timeout=endpoint.timeout_seconds,
        )

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None, samples: int) -> Sequence[str]:
        """What is no parameter of Hugging Face's chat completion."""
        reason = "no parameter of the protocol; give the server's own in generation.extra_body"
        lines = untaken(sampling, dict.fromkeys(("top_k", "reasoning_tokens"), reason))
        return other_form(form, ["chat"], "Hugging Face") + lines

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """The router chooses who answers."""
        if self._endpoint.base_url or ":" in self._endpoint.model:
            return []
        return ["Hugging Face's router chooses who serves the model; pin one as MODEL:PROVIDER"]

    def body(self, request: Request) -> Mapping[str, Any]:
        """The JSON of the request."""
        named, extra = self._parameters(request)
        messages = turns(request)
        return merged({"model": self._endpoint.model, "messages": messages, **named, "stream": False}, extra)

    def _parameters(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters of the SDK's method, and those that it sends as they are."""
        sampling = request.sampling
        named = {
            "frequency_penalty": sampling.frequency_penalty,
            "max_tokens": sampling.max_tokens,
            "n": len(request.sample_indices) if len(request.sample_indices) > 1 else None,
            "presence_penalty": sampling.presence_penalty,
            "seed": request.seed,
            "stop": list(sampling.stop) or None,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        extra = {} if sampling.reasoning_effort is None else {"reasoning_effort": sampling.reasoning_effort}
        return {name: value for name, value in named.items() if value is not None}, merged(extra, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send through the SDK."""
        named, extra = self._parameters(request)
        sending = self._client.chat_completion(
            turns(request), model=self._endpoint.model, stream=False, extra_body=extra, **named
        )
        reply = await called(self._endpoint, _plain(sending), *SHAPE_ERRORS)
        return completion_reply(reply, secret=self._endpoint.api_key)

    async def close(self) -> None:
        """Give connections back."""
        await self._http.aclose()


async def _plain(sending: Awaitable[ChatCompletionOutput]) -> dict[str, Any]:
    """A reply with the fields too that the SDK's classes have no name for; their instances are dictionaries as well."""
    reply = await sending
    choices = [{**choice, "message": {**choice.message}} for choice in reply.choices or ()]
    return {**reply, "choices": choices, "usage": {**(reply.usage or {})}}


class _Client(AsyncInferenceClient):
    """The SDK's client on our own pool: its own keeps 100 connections at most, and can be set for the process only."""

    def __init__(self, http: httpx2.AsyncClient, **settings: Any) -> None:
        super().__init__(**settings)
        self._async_client = http
