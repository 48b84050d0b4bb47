"""OpenAI, and every server that speaks its protocol: vLLM, llama.cpp, Ollama's /v1, gateways."""

# ruff: noqa: ARG002 (every provider has the same signatures)

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from bigcodeflow.generation.model_api import PromptForm, Reply, Request, Sampling
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.replies import completion_reply, decoded
from bigcodeflow.generation.providers.settings import other_form, turns, untaken
from bigcodeflow.generation.providers.transport import NO_KEY, called, http_client, merged

_ADDRESS = "https://api.openai.com/v1"
_STOPS = 4
_REASONING = re.compile(r"o\d|gpt-[5-9]|codex")
_CHATTING = re.compile(r"gpt-5(\.\d+)?-chat")
# These reason always; later ones take sampling parameters while reasoning_effort is 'none'.
_ALWAYS_REASONING = re.compile(r"o\d|gpt-5(-(mini|nano|pro|codex|\d{4}).*)?$")
_CONTINUING = re.compile(r"gpt-3\.5-turbo-instruct|davinci-002|babbage-002")


def open_provider(endpoint: Endpoint) -> "OpenAIProvider":
    """Connect to OpenAI or to the server at the endpoint's address."""
    return OpenAIProvider(endpoint)


class OpenAIProvider:
    """Chat completions and, for 'direct', text completions."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.official = _is_official(endpoint.base_url)
        """Whether it is OpenAI itself, which takes less than compatible servers and refuses what it does not know."""
        self.client = openai.AsyncOpenAI(
            api_key=endpoint.api_key or NO_KEY,
            base_url=endpoint.base_url or _ADDRESS,
            timeout=endpoint.timeout_seconds,
            max_retries=0,
            http_client=http_client(endpoint, _ADDRESS),
        )
        """The SDK's client."""

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None, samples: int) -> Sequence[str]:
        """What OpenAI does not take; compatible servers say so themselves."""
        if not self.official:
            reason = "no parameter of the protocol; give the server's own in generation.extra_body"
            return untaken(sampling, {"reasoning_tokens": reason})
        model = self._endpoint.model
        taken: list[PromptForm] = ["direct"] if _CONTINUING.match(model) else ["chat"]
        lines = other_form(form, taken, f"{model} at OpenAI")
        lines += untaken(
            sampling,
            {
                "top_k": "OpenAI takes none",
                "reasoning_tokens": "OpenAI takes no budget, but generation.sampling.reasoning_effort",
            },
        )
        if len(sampling.stop) > _STOPS:
            lines.append(f"generation.sampling.stop: OpenAI takes {_STOPS} texts at most; given: {len(sampling.stop)}")
        return lines + self._model_problems(model, sampling)

    def _model_problems(self, model: str, sampling: Sampling) -> list[str]:
        if not _REASONING.match(model) or _CHATTING.match(model):
            return untaken(sampling, {"reasoning_effort": f"{model} does not reason"})
        effort = sampling.reasoning_effort
        if not _ALWAYS_REASONING.match(model) and effort in {None, "none"}:
            return []
        reason = f"{model} takes none while it reasons"
        chosen = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "stop")
        lines = untaken(sampling, dict.fromkeys(chosen[:-1], reason))
        return lines + ([f"generation.sampling.stop: {reason}; empty it"] if sampling.stop else [])

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """Seeds are best effort; a prefilled answer needs a server that knows how to continue one."""
        lines = []
        if seed is not None and self.official:
            lines.append("seed: OpenAI repeats answers as far as it can, without a promise")
        if form == "prefill":
            lines.append(
                "prefill: sent as continue_final_message, as vLLM takes it; other servers may begin a new answer"
            )
        return lines

    def body(self, request: Request) -> Mapping[str, Any]:
        """The JSON of the request."""
        sampling, form = request.sampling, request.prompt.form
        limit = "max_completion_tokens" if self.official and form != "direct" else "max_tokens"
        body = {
            "model": self._endpoint.model,
            **({"prompt": request.prompt.text} if form == "direct" else {"messages": turns(request)}),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            limit: sampling.max_tokens,
            "stop": list(sampling.stop) or None,
            "frequency_penalty": sampling.frequency_penalty,
            "presence_penalty": sampling.presence_penalty,
            "reasoning_effort": sampling.reasoning_effort,
            "seed": request.seed,
            "n": len(request.sample_indices) if len(request.sample_indices) > 1 else None,
        }
        body = {name: value for name, value in body.items() if value is not None}
        if form == "prefill":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        return merged(body, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send the body as it stands: the SDK's typed methods would parse each answer into models first."""
        path = "/completions" if request.prompt.form == "direct" else "/chat/completions"
        sending = self.client.post(path, body=self.body(request), cast_to=httpx2.Response)
        response = await called(self._endpoint, sending, openai.OpenAIError)
        request_id = response.headers.get("x-request-id")
        return completion_reply(decoded(response.text), request_id=request_id, secret=self._endpoint.api_key)

    async def close(self) -> None:
        """Give connections back."""
        await self.client.close()


def _is_official(address: str) -> bool:
    host = urlsplit(address or _ADDRESS).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")
