"""Mistral's chat completions."""

# ruff: noqa: ARG002 (every provider has the same signatures)

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from mistralai.client import Mistral, errors, models
from pydantic import ValidationError

from bigcodeflow.generation.model_api import Answer, PromptForm, Reply, Request, RequestError, Sampling
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.replies import completion_reply
from bigcodeflow.generation.providers.settings import other_form, turns, untaken
from bigcodeflow.generation.providers.transport import NO_KEY, called, http_client, merged

_ADDRESS = "https://api.mistral.ai"


def open_provider(endpoint: Endpoint) -> "MistralProvider":
    """Connect to Mistral or to a server that speaks its protocol."""
    return MistralProvider(endpoint)


class MistralProvider:
    """Chat completions, several answers a request."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._http = http_client(endpoint, _ADDRESS)
        self._client = Mistral(
            api_key=endpoint.api_key or NO_KEY,
            server_url=endpoint.base_url or _ADDRESS,
            async_client=self._http,
            timeout_ms=round(endpoint.timeout_seconds * 1000),
        )
        self._fields = frozenset(inspect.signature(self._client.chat.complete_async).parameters)

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None, samples: int) -> Sequence[str]:
        """What Mistral does not take."""
        reason = "Mistral takes no budget, but generation.sampling.reasoning_effort"
        return other_form(form, ["chat", "prefill"], "Mistral") + untaken(sampling, {"reasoning_tokens": reason})

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """Mistral repeats a begun answer, which the others do not."""
        return (
            ["prefill: the begun answer, which Mistral repeats, is taken off its answers"] if form == "prefill" else []
        )

    def body(self, request: Request) -> Mapping[str, Any]:
        """The JSON of the request."""
        sampling = request.sampling
        messages: list[dict[str, Any]] = [
            turn | ({"prefix": False} if turn["role"] == "assistant" else {}) for turn in turns(request)
        ]
        if request.prompt.form == "prefill":
            messages[-1]["prefix"] = True
        body = {
            "model": self._endpoint.model,
            "messages": messages,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "max_tokens": sampling.max_tokens,
            "stop": list(sampling.stop) or None,
            "random_seed": request.seed,
            "frequency_penalty": sampling.frequency_penalty,
            "presence_penalty": sampling.presence_penalty,
            "reasoning_effort": sampling.reasoning_effort,
            "n": len(request.sample_indices) if len(request.sample_indices) > 1 else None,
            "stream": False,
        }
        return merged({name: value for name, value in body.items() if value is not None}, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send through the SDK's method, which takes no fields but those that it knows."""
        body = self.body(request)
        unknown = sorted(body.keys() - self._fields)
        if unknown:
            known = "Mistral's SDK does not send it"
            raise RequestError("bad_request", f"generation.extra_body: {', '.join(unknown)}: {known}; remove it")
        reply = await called(self._endpoint, self._sent(body), errors.MistralError)
        return _continuation(completion_reply(reply.model_dump(mode="json", warnings="none")), request)

    async def _sent(self, body: Mapping[str, Any]) -> models.ChatCompletionResponse:
        try:
            return await self._client.chat.complete_async(**body)
        except ValidationError as error:  # of the request: for an answer the SDK has an error of its own
            raise RequestError("bad_request", f"Mistral's SDK does not take the request: {error}") from None

    async def close(self) -> None:
        """Give connections back."""
        await self._http.aclose()


def _continuation(reply: Reply, request: Request) -> Reply:
    if request.prompt.form != "prefill":
        return reply
    begun = request.prompt.messages[-1].text
    answers = tuple(
        Answer(answer.text.removeprefix(begun), answer.finish_reason, answer.reasoning) for answer in reply.answers
    )
    return Reply(answers, reply.usage, reply.served_model, reply.request_id)
