"""Anthropic's Message Batches.

A batch carries no mark of its own: the tag stands in its custom ids, which show only in its results. One whose id was
lost is therefore known by its time and size while it runs, and without doubt once it has ended; until then nothing is
sent again. What is left: a batch that is gone from the account's list, or that another key submitted, is not found.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic

from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers.anthropic import AnthropicProvider, message_reply
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
from bigcodeflow.generation.providers.faults import status_error
from bigcodeflow.generation.providers.replies import decoded
from bigcodeflow.generation.providers.transport import called

_PAGE = 100
_CLOCKS_DIFFER = timedelta(hours=1)
"""At most, between this machine and the provider; what is looked at in vain costs a request, what is missed money."""
_STATUS_OF_TYPE: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def open_batches(endpoint: Endpoint) -> "AnthropicBatches":
    """Connect to the batch API of Anthropic or of the server at the endpoint's address."""
    return AnthropicBatches(endpoint)


class AnthropicBatches:
    """Batches of messages."""

    limits = ProviderBatchLimits(requests=100_000, size_bytes=256 * 10**6)

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._provider = AnthropicProvider(endpoint)
        self._batches = self._provider.client.messages.batches
        self._tags: dict[str, str] = {}
        """Tag of the first custom id of batches that have ended."""

    def size_bytes(self, custom_id: str, request: Request) -> int:
        """Bytes of the request in the list, its comma included."""
        return len(json.dumps(self._entry(custom_id, request), ensure_ascii=False).encode(errors="surrogatepass")) + 1

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Send the requests; the tag goes with their custom ids."""
        requests: Any = [self._entry(custom_id, request) for custom_id, request in entries]
        created = await self._data(self._batches.with_raw_response.create(requests=requests))
        return required_text(created, "id")

    async def find(self, lost: LostBatch) -> BatchSearch:
        """Look through the account's batches of that time and size; those that have ended show whose they are."""
        undecided = []
        async for batch in self._since(lost.since - _CLOCKS_DIFFER):
            batch_id = required_text(batch, "id")
            size = sum(count for count in (batch.get("request_counts") or {}).values() if isinstance(count, int))
            if batch_id in lost.known or size != lost.requests:
                continue
            if batch.get("processing_status") != "ended":
                undecided.append(batch_id)
            elif await self._tag(batch) == lost.tag:
                return BatchSearch(batch_id)
        return BatchSearch(None, tuple(undecided))

    async def status(self, batch_id: str) -> BatchStatus:
        """How far a batch is; all counts but one stay at zero until it has ended."""
        batch = await self._data(self._batches.with_raw_response.retrieve(batch_id))
        if batch.get("archived_at"):
            gone = f"batch {batch_id} is archived: its results are no longer kept"
            return BatchStatus(ended=True, rejection=RequestError("deadline", gone))
        counts = batch.get("request_counts") or {}
        return BatchStatus(
            ended=required_text(batch, "processing_status") == "ended",
            succeeded=counts.get("succeeded") or 0,
            failed=sum(counts.get(name) or 0 for name in ("errored", "canceled", "expired")),
            duration_seconds=_seconds_between(batch.get("created_at"), batch.get("ended_at")),
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """One result a request, in any order."""
        content = self._batches.with_streaming_response.results(batch_id)
        async with aclosing(json_lines(self._endpoint, content, anthropic.AnthropicError)) as lines:
            async for line in lines:
                yield line["custom_id"], self._outcome(line.get("result") or {})

    async def cancel(self, batch_id: str) -> None:
        """Ask to stop; requests that are being answered may still be finished."""
        await self._data(self._batches.with_raw_response.cancel(batch_id))

    async def close(self) -> None:
        """Give connections back."""
        await self._provider.close()

    def _entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        return {"custom_id": custom_id, "params": self._provider.body(request)}

    async def _since(self, since: datetime) -> AsyncIterator[dict[str, Any]]:
        """The account's batches, newest first."""
        last: str | anthropic.Omit = anthropic.omit
        while True:
            page = await self._data(self._batches.with_raw_response.list(limit=_PAGE, after_id=last))
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            for batch in batches:
                if _time(required_text(batch, "created_at")) < since:
                    return
                yield batch
            if not batches or not page.get("has_more"):
                return
            last = required_text(batches[-1], "id")

    async def _tag(self, batch: Mapping[str, Any]) -> str:
        batch_id = required_text(batch, "id")
        if batch_id not in self._tags and not batch.get("archived_at"):
            async with aclosing(self.results(batch_id)) as results:
                custom_id, _ = await anext(results, ("", None))
            self._tags[batch_id] = tag_of(custom_id)
        return self._tags.get(batch_id, "")

    async def _data(self, sending: Any) -> dict[str, Any]:
        response = await called(self._endpoint, sending, anthropic.AnthropicError)
        return decoded(await response.text())

    def _outcome(self, result: Mapping[str, Any]) -> Reply | RequestError:
        kind = result.get("type")
        if kind == "succeeded":
            try:
                return message_reply(result.get("message") or {})
            except RequestError as problem:
                return problem
        if kind == "errored":
            error = result.get("error") or {}
            name = str((error.get("error") or {}).get("type"))
            return status_error(_STATUS_OF_TYPE.get(name, 500), {}, json.dumps(error), secret=self._endpoint.api_key)
        return RequestError("deadline", f"{kind}: the batch ended before this was asked")


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise RequestError("malformed", f"the answer about a batch has no time: {text[:40]!r}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _seconds_between(start: str | None, end: str | None) -> float | None:
    return (_time(end) - _time(start)).total_seconds() if start and end else None
