"""OpenAI's batch API: a file of requests goes up, files of answers and of errors come down.

A batch carries its tag as metadata, so that one whose id was lost is found again without doubt.
"""

import json
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import openai

from bigcodeflow.generation.model_api import ErrorKind, Reply, Request, RequestError
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.batching import (
    BatchSearch,
    BatchStatus,
    LostBatch,
    ProviderBatchLimits,
    json_lines,
    required_text,
    tag_of,
)
from bigcodeflow.generation.providers.faults import shown, status_error
from bigcodeflow.generation.providers.openai import OpenAIProvider
from bigcodeflow.generation.providers.replies import completion_reply, decoded
from bigcodeflow.generation.providers.transport import called

_TAG = "bigcodeflow"
_PAGE = 100
_OK = 200
_ENDED = frozenset({"completed", "expired", "cancelled"})
_END_TIMES = ("completed_at", "expired_at", "cancelled_at")
_NOT_ASKED = frozenset({"batch_expired", "batch_cancelled", "request_timeout"})


def open_batches(endpoint: Endpoint) -> "OpenAIBatches":
    """Connect to the batch API of OpenAI or of the server at the endpoint's address."""
    return OpenAIBatches(endpoint)


class OpenAIBatches:
    """Batches of chat completions or, for 'direct', of text completions; one form a batch."""

    limits = ProviderBatchLimits(requests=50_000, size_bytes=200 * 10**6)

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._provider = OpenAIProvider(endpoint)
        self._client = self._provider.client

    def size_bytes(self, custom_id: str, request: Request) -> int:
        """Bytes of the request's line."""
        return len(self._line(custom_id, request))

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Upload the requests and start the batch; a file that is left without a batch costs nothing."""
        tag = tag_of(entries[0][0])
        with tempfile.TemporaryFile() as file:
            for custom_id, request in entries:
                file.write(self._line(custom_id, request))
            file.seek(0)
            uploaded = await self._data(
                self._client.files.with_raw_response.create(file=(f"{tag}.jsonl", file), purpose="batch")
            )
        created = await self._data(
            self._client.batches.with_raw_response.create(
                input_file_id=required_text(uploaded, "id"),
                endpoint="/v1/completions" if entries[0][1].prompt.form == "direct" else "/v1/chat/completions",
                completion_window="24h",
                metadata={_TAG: tag},
            )
        )
        return required_text(created, "id")

    async def find(self, lost: LostBatch) -> BatchSearch:
        """Look through the account's batches for the tag; their order is not promised, so all are looked at."""
        last: str | openai.Omit = openai.omit
        while True:
            page = await self._data(self._client.batches.with_raw_response.list(limit=_PAGE, after=last))
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            for batch in batches:
                if (batch.get("metadata") or {}).get(_TAG) == lost.tag:
                    return BatchSearch(required_text(batch, "id"))
            if not batches or not page.get("has_more"):
                return BatchSearch(None)
            last = required_text(batches[-1], "id")

    async def status(self, batch_id: str) -> BatchStatus:
        """How far a batch is; one that fails its validation is rejected as a whole."""
        batch = await self._batch(batch_id)
        state = required_text(batch, "status")
        if state == "failed":
            return BatchStatus(ended=True, rejection=self._rejection(batch))
        counts = batch.get("request_counts") or {}
        ended = next((batch[name] for name in _END_TIMES if batch.get(name)), None)
        return BatchStatus(
            ended=state in _ENDED,
            succeeded=counts.get("completed") or 0,
            failed=counts.get("failed") or 0,
            duration_seconds=float(ended - batch["created_at"]) if ended and batch.get("created_at") else None,
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """Answers, then errors; those that were not asked before the end stand among the errors or nowhere."""
        batch = await self._batch(batch_id)
        for file_id in (batch.get("output_file_id"), batch.get("error_file_id")):
            if file_id:
                content = self._client.files.with_streaming_response.content(file_id)
                async with aclosing(json_lines(self._endpoint, content, openai.OpenAIError)) as lines:
                    async for line in lines:
                        yield line["custom_id"], self._outcome(line)

    async def cancel(self, batch_id: str) -> None:
        """Ask to stop, which takes up to ten minutes."""
        await self._data(self._client.batches.with_raw_response.cancel(batch_id))

    async def close(self) -> None:
        """Give connections back."""
        await self._provider.close()

    def _line(self, custom_id: str, request: Request) -> bytes:
        url = "/v1/completions" if request.prompt.form == "direct" else "/v1/chat/completions"
        line = {"custom_id": custom_id, "method": "POST", "url": url, "body": self._provider.body(request)}
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"

    async def _batch(self, batch_id: str) -> dict[str, Any]:
        return await self._data(self._client.batches.with_raw_response.retrieve(batch_id))

    async def _data(self, sending: Any) -> dict[str, Any]:
        response = await called(self._endpoint, sending, openai.OpenAIError)
        return decoded(response.text)

    def _rejection(self, batch: Mapping[str, Any]) -> RequestError:
        problems = (batch.get("errors") or {}).get("data") or [{}]
        code, words = problems[0].get("code") or "failed", problems[0].get("message") or "no reason given"
        # The queue of a model holds so many tokens; single requests do not pass through it.
        kind = "rate_limited" if code == "token_limit_exceeded" else status_error(400, {}, json.dumps(problems[0])).kind
        return RequestError(kind, shown(f"batch rejected: {code}: {words}", self._endpoint.api_key))

    def _outcome(self, line: Mapping[str, Any]) -> Reply | RequestError:
        response, error = line.get("response"), line.get("error") or {}
        if not response:
            code = error.get("code") or "unknown"
            kind: ErrorKind = "deadline" if code in _NOT_ASKED else "overloaded"
            return RequestError(kind, shown(f"{code}: {error.get('message') or 'no message'}", self._endpoint.api_key))
        body, status = response.get("body"), response.get("status_code")
        if status != _OK:
            return status_error(status or 500, {}, json.dumps(body), secret=self._endpoint.api_key)
        try:
            return completion_reply(body or {}, request_id=response.get("request_id"), secret=self._endpoint.api_key)
        except RequestError as problem:
            return problem
