"""Google's Gemini API and Vertex AI, through the SDK, which requests the rest of answers that Google cuts off."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from google import genai
from google.auth.exceptions import GoogleAuthError, TransportError
from google.genai import errors, types

from bigcodeflow.generation import providers
from bigcodeflow.generation.model_api import Answer, ErrorKind, FinishReason, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.providers.http_client import NO_KEY, SHAPE_ERRORS, async_client, called, shown, ssl_context

_FIELDS = {  # in the order in which they are sent
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "n": "candidateCount",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
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
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "tool_calls"),
}


class GoogleProvider(providers.Provider):
    """Provider for Gemini models, with several answers (Google calls them candidates) per request."""

    address = "https://generativelanguage.googleapis.com"
    label = "Google"
    forms = ("chat",)
    most_stops = 5

    def __init__(self, endpoint: providers.Endpoint) -> None:
        self._endpoint = endpoint
        self._http = async_client(endpoint, self.address)

    @cached_property
    def _client(self) -> genai.Client:
        endpoint, account = self._endpoint, self._account()
        options = types.HttpOptions(
            base_url=endpoint.base_url or (None if account["vertexai"] else self.address),
            timeout=round(endpoint.timeout_seconds * 1000),
            httpx_async_client=self._http,
            client_args={"verify": ssl_context()},
            async_client_args={"verify": ssl_context()},
        )
        return genai.Client(http_options=options, **account)

    def _account(self) -> dict[str, Any]:
        """Return client arguments for service and account; they override the environment variables of Google's SDK."""
        return {"vertexai": False, "api_key": self._endpoint.api_key or NO_KEY}

    def problems(self, request: Request) -> list[str]:
        sampling, model = request.sampling, self._endpoint.model
        reasons = {}
        if _NOT_REASONING.match(model):
            reasons = dict.fromkeys(("reasoning_effort", "reasoning_tokens"), f"{model} does not reason")
        elif _BUDGET_ONLY.match(model):
            reasons["reasoning_effort"] = f"{model} takes generation.sampling.reasoning_tokens instead"
        elif sampling.reasoning_effort is not None:
            reasons["reasoning_tokens"] = "reasoning_effort is set too, and only one of the two is taken"
        return super().problems(request) + providers.untaken(request, reasons)

    def notes(self, request: Request) -> list[str]:
        sampling = request.sampling
        if sampling.reasoning_effort is None and not sampling.reasoning_tokens:
            return []
        return ["reasoning: sent with include_thoughts, so that Google's summary of the reasoning is stored"]

    def body(self, request: Request) -> Mapping[str, Any]:
        body: dict[str, Any] = {"contents": _contents(request)}
        if system := providers.system_prompt(request):
            body["systemInstruction"] = {"parts": [{"text": system}], "role": "user"}
        body["generationConfig"] = _generation_config(request)
        return providers.merged(body, request.extra_body)

    async def ask(self, request: Request) -> Reply:
        config = types.GenerateContentConfig(
            **_generation_config(request),
            system_instruction=providers.system_prompt(request) or None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            http_options=types.HttpOptions(extra_body={**request.extra_body}) if request.extra_body else None,
        )
        sending = self._client.aio.models.generate_content(
            model=self._endpoint.model, contents=_contents(request), config=config
        )
        failures = (errors.APIError, errors.ContinuationInterruptedError, *SHAPE_ERRORS)
        address = self._endpoint.base_url or self.address
        try:
            reply = await called(self._endpoint, sending, *failures, address=address)
        except GoogleAuthError as error:  # credentials are missing or not accepted
            kind: ErrorKind = "connection" if isinstance(error, TransportError) else "authentication"
            raise RequestError(kind, shown(f"Google's credentials: {error}", self._endpoint.api_key)) from None
        return content_reply(reply)

    async def aclose(self) -> None:
        if "_client" in vars(self):
            await self._client.aio.aclose()
            self._client.close()
        await self._http.aclose()


def content_reply(reply: types.GenerateContentResponse) -> Reply:
    if not reply.candidates:
        blocked = reply.prompt_feedback and reply.prompt_feedback.block_reason
        if blocked:
            raise RequestError("refused", f"the prompt was refused: {blocked.value}")
        raise RequestError("malformed", "the answer holds no candidates")
    answers = tuple(_answer(candidate) for candidate in sorted(reply.candidates, key=lambda item: item.index or 0))
    usage = TokenUsage()
    if given := reply.usage_metadata:
        # candidates_token_count excludes reasoning, and is absent if a limit cut the reasoning off.
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


def _generation_config(request: Request) -> dict[str, Any]:
    config, sampling = providers.given_fields(request, _FIELDS, **_FIELDS), request.sampling
    # Thinking fields are named as the SDK sends them; Google accepts both spellings.
    if sampling.reasoning_effort is not None:
        config["thinkingConfig"] = {"include_thoughts": True, "thinking_level": sampling.reasoning_effort.upper()}
    elif sampling.reasoning_tokens is not None:
        budget = sampling.reasoning_tokens
        config["thinkingConfig"] = {"include_thoughts": budget > 0, "thinking_budget": budget}
    return config
