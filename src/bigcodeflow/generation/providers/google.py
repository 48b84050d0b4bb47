"""Google's Gemini API, over its SDK: that asks on by itself where Google ends an answer for its own limits."""

# ruff: noqa: ARG002 (every provider has the same signatures)

import re
from collections.abc import Mapping, Sequence
from typing import Any

from google import genai
from google.genai import errors, types

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
from bigcodeflow.generation.providers import (
    Endpoint,
    given_fields,
    merged,
    other_form,
    too_many_stops,
    unset,
    untaken,
)
from bigcodeflow.generation.providers.http_client import NO_KEY, SHAPE_ERRORS, async_client, called

_ADDRESS = "https://generativelanguage.googleapis.com"
_STOPS = 5
_FIELDS = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "candidateCount": "n",
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "seed": "seed",
}
_BUDGET_ONLY = re.compile(r"gemini-2\.5")
_NOT_REASONING = re.compile(r"gemini-(1|2\.0)")
_REFUSALS = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "LANGUAGE")
_FINISH_REASONS: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(_REFUSALS, "refusal"),
}


class GoogleProvider:
    """Generated contents, several candidates a request."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._http = async_client(endpoint, _ADDRESS)
        self._client = genai.Client(
            vertexai=False,  # the environment could else choose another service, with other prices
            api_key=endpoint.api_key or NO_KEY,
            http_options=types.HttpOptions(
                base_url=endpoint.base_url or _ADDRESS,
                timeout=round(endpoint.timeout_seconds * 1000),
                httpx_async_client=self._http,
            ),
        )

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """What Google or the model does not take."""
        model = self._endpoint.model
        lines = other_form(form, ["chat"], "Google") + too_many_stops(sampling, _STOPS, "Google")
        if _NOT_REASONING.match(model):
            reason = f"{model} does not reason"
            return lines + untaken(sampling, dict.fromkeys(("reasoning_effort", "reasoning_tokens"), reason))
        if _BUDGET_ONLY.match(model):
            reason = f"{model} takes a budget, generation.sampling.reasoning_tokens"
            lines += untaken(sampling, {"reasoning_effort": reason})
        elif sampling.reasoning_effort is not None and sampling.reasoning_tokens is not None:
            lines.append(unset("sampling.reasoning_tokens", "either a budget or reasoning_effort is taken"))
        return lines

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """Reasoning comes back only where it is asked for."""
        if sampling.reasoning_effort is None and not sampling.reasoning_tokens:
            return []
        return ["reasoning: sent with include_thoughts, so that Google's summary of it is stored"]

    def body(self, request: Request) -> Mapping[str, Any]:
        """The JSON of the request."""
        body: dict[str, Any] = {"contents": _contents(request)}
        system = _system(request)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}], "role": "user"}
        body["generationConfig"] = _generation_config(request)
        return merged(body, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        """Send through the SDK."""
        config = types.GenerateContentConfig(
            **_generation_config(request),
            system_instruction=_system(request) or None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            http_options=types.HttpOptions(extra_body={**request.extra_body}) if request.extra_body else None,
        )
        sending = self._client.aio.models.generate_content(
            model=self._endpoint.model, contents=_contents(request), config=config
        )
        reply = await called(
            self._endpoint, sending, errors.APIError, errors.ContinuationInterruptedError, *SHAPE_ERRORS
        )
        return content_reply(reply)

    async def close(self) -> None:
        """Give connections back."""
        await self._client.aio.aclose()
        self._client.close()
        await self._http.aclose()


def content_reply(reply: types.GenerateContentResponse) -> Reply:
    """A response as `Reply`.

    Raises:
        RequestError: the prompt was refused, or there is no candidate.
    """
    if not reply.candidates:
        blocked = reply.prompt_feedback and reply.prompt_feedback.block_reason
        if blocked:
            raise RequestError("refused", f"the prompt was refused: {blocked.value}")
        raise RequestError("malformed", "the answer holds no candidates")
    answers = tuple(_answer(candidate) for candidate in sorted(reply.candidates, key=lambda item: item.index or 0))
    usage = TokenUsage()
    if given := reply.usage_metadata:
        # candidates_token_count leaves reasoning out, and is absent where a limit cut the reasoning off.
        written, thoughts = given.candidates_token_count, given.thoughts_token_count
        total = None if written is None and thoughts is None else (written or 0) + (thoughts or 0)
        usage = TokenUsage(given.prompt_token_count, total, thoughts, given.cached_content_token_count)
    return Reply(answers, usage, served_model=reply.model_version, request_id=reply.response_id)


def _answer(candidate: types.Candidate) -> Answer:
    parts = (candidate.content and candidate.content.parts) or []
    text = "".join(part.text or "" for part in parts if not part.thought)
    reasoning = "".join(part.text or "" for part in parts if part.thought)
    finish = candidate.finish_reason.value if candidate.finish_reason else ""
    return Answer(text, _FINISH_REASONS.get(finish, "other"), reasoning)


def _contents(request: Request) -> list[Any]:
    roles = {"user": "user", "assistant": "model"}
    turns = (message for message in request.prompt.messages if message.role != "system")
    return [{"parts": [{"text": message.text}], "role": roles[message.role]} for message in turns]


def _system(request: Request) -> str:
    return "\n\n".join(message.text for message in request.prompt.messages if message.role == "system")


def _generation_config(request: Request) -> dict[str, Any]:
    config, sampling = given_fields(request, _FIELDS), request.sampling
    # Thinking is named as the SDK sends it; Google takes both spellings.
    if sampling.reasoning_effort is not None:
        config["thinkingConfig"] = {"include_thoughts": True, "thinking_level": sampling.reasoning_effort.upper()}
    elif sampling.reasoning_tokens is not None:
        budget = sampling.reasoning_tokens
        config["thinkingConfig"] = {"include_thoughts": budget > 0, "thinking_budget": budget}
    return config
