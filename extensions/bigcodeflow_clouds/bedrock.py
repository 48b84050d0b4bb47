"""Models in Amazon Bedrock, through its Converse API and AWS's SDK, which signs requests with AWS credentials."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore import exceptions  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]

from bigcodeflow.generation.model_api import Answer, FinishReason, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.providers import Endpoint, Provider, check_key, given_fields, merged, system_prompt
from bigcodeflow.generation.providers.http_client import shown, status_error
from bigcodeflow_clouds.anthropic import FINISH_REASONS, sampling_problems

_FIELDS = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP", "stop": "stopSequences"}
_FINISH_REASONS: Mapping[str, FinishReason] = {
    **FINISH_REASONS,
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
    "malformed_tool_use": "tool_calls",
}
_NO_IDENTITY = (
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.NoRegionError,
    exceptions.ProfileNotFound,
    exceptions.SSOError,
    exceptions.TokenRetrievalError,
)
#: Secrets that are sent in headers; the SDK's message about an invalid header value would show the secret.
_SECRETS = ("AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN", "AWS_SECRET_ACCESS_KEY")
#: Error codes for which another status fits better than the status that is sent.
_STATUSES = {
    **dict.fromkeys(
        ("UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"), HTTPStatus.UNAUTHORIZED
    ),
    "ModelErrorException": HTTPStatus.SERVICE_UNAVAILABLE,
}


class BedrockProvider(Provider):
    """Provider for the Converse API, one answer per request; extra_body is sent as additionalModelRequestFields."""

    label = "Bedrock"
    forms = ("chat",)
    most_stops = 4
    not_taken: Mapping[str, str] = dict.fromkeys(
        ("top_k", "frequency_penalty", "presence_penalty", "reasoning_effort", "reasoning_tokens", "seed"),
        "Bedrock has no such parameter for all models; give the model's own in generation.extra_body",
    )

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        for name in _SECRETS:
            if key := os.environ.get(name):
                check_key(key, name)

    @cached_property
    def _client(self) -> Any:
        # The module `retries` decides on retries, not the SDK.
        config = Config(
            retries={"total_max_attempts": 1},
            connect_timeout=min(15.0, self._endpoint.timeout_seconds),
            read_timeout=self._endpoint.timeout_seconds,
            max_pool_connections=self._endpoint.connections,
        )
        # The SDK itself reads only AWS_DEFAULT_REGION.
        region, address = os.environ.get("AWS_REGION") or None, self._endpoint.base_url or None
        return boto3.client("bedrock-runtime", region_name=region, endpoint_url=address, config=config)

    def problems(self, request: Request) -> list[str]:
        model = self._endpoint.model
        return super().problems(request) + (sampling_problems(request, model) if "anthropic.claude" in model else [])

    def body(self, request: Request) -> Mapping[str, Any]:
        """Return the arguments of `converse`, including the model."""
        messages = [
            {"role": message.role, "content": [{"text": message.text}]}
            for message in request.prompt.messages
            if message.role != "system"
        ]
        body: dict[str, Any] = {"modelId": self._endpoint.model, "messages": messages}
        if system := system_prompt(request):
            body["system"] = [{"text": system}]
        body["inferenceConfig"] = given_fields(request, _FIELDS, **_FIELDS)
        if request.extra_body:
            body["additionalModelRequestFields"] = merged({}, request.extra_body)
        return body

    async def ask(self, request: Request) -> Reply:
        return await _in_thread(partial(self._converse, dict(self.body(request))))

    async def aclose(self) -> None:
        if "_client" in vars(self):
            self._client.close()

    def _converse(self, body: Mapping[str, Any]) -> Reply:
        try:
            return converse_reply(self._client.converse(**body), self._endpoint.model)
        except exceptions.ClientError as error:
            raise _response_error(error) from None
        except _NO_IDENTITY as error:
            hint = "set AWS_REGION, and AWS_BEARER_TOKEN_BEDROCK or the credentials of an AWS account"
            raise RequestError("authentication", f"{shown(str(error), '')}: {hint}") from None
        except exceptions.ReadTimeoutError:
            raise RequestError("deadline", f"no answer within {self._endpoint.timeout_seconds:g} s") from None
        except exceptions.EndpointConnectionError as error:
            raise RequestError("connection", f"{shown(str(error), '')}: correct AWS_REGION or base_url") from None
        except exceptions.BotoCoreError as error:
            raise RequestError("connection", shown(f"{type(error).__name__}: {error}", "")) from None
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise RequestError("malformed", f"the answer is no valid response of Converse: {error!r}") from None


async def _in_thread(call: Callable[[], Reply]) -> Reply:
    """Run a call in a daemon thread and return its result; the process can end while the thread still runs."""
    future: Future[Reply] = Future()
    future.set_running_or_notify_cancel()  # the waiting task may be cancelled, the call cannot

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            future.set_exception(error)

    threading.Thread(target=work, name="bedrock", daemon=True).start()
    return await asyncio.wrap_future(future)


def converse_reply(data: Mapping[str, Any], model: str) -> Reply:
    blocks = data["output"]["message"]["content"]
    text = "".join(block["text"] for block in blocks if "text" in block)
    thoughts = (block["reasoningContent"] for block in blocks if "reasoningContent" in block)
    reasoning = "".join((thought.get("reasoningText") or {}).get("text", "") for thought in thoughts)
    given = data.get("usage") or {}
    prompt, cached = given.get("inputTokens"), given.get("cacheReadInputTokens")
    if prompt is not None:  # as with Anthropic, tokens read from or written to a cache are extra
        prompt += (cached or 0) + (given.get("cacheWriteInputTokens") or 0)
    usage = TokenUsage(prompt, given.get("outputTokens"), None, cached)
    answer = Answer(text, _FINISH_REASONS.get(data.get("stopReason") or "", "other"), reasoning)
    request_id = (data.get("ResponseMetadata") or {}).get("RequestId")
    return Reply((answer,), usage, served_model=model, request_id=request_id)


def _response_error(error: exceptions.ClientError) -> RequestError:
    response = error.response
    metadata = response.get("ResponseMetadata") or {}
    details = response.get("Error") or {}
    code, message = details.get("Code") or "", details.get("Message") or "no message"
    status = _STATUSES.get(code) or metadata.get("HTTPStatusCode") or 500
    body = json.dumps({"error": {"message": f"{code}: {message}"}})
    return status_error(status, metadata.get("HTTPHeaders") or {}, body)
