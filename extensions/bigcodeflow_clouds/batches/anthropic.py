"""Batches of Anthropic.

Anthropic's batches have no metadata: the tag is in their custom IDs, which only the results show. While a batch whose
ID was lost is running, only its time and size are known; its tag identifies it after it has ended. Until then nothing
is sent again. Limitation: a batch that is gone from the account's list, or that was submitted with another key, is not
detected.
"""

from collections.abc import AsyncGenerator, Container, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow_clouds.anthropic import AnthropicProvider
from bigcodeflow_clouds.batches.apis import BatchApi, required_text, seconds_between, tag_of, time_of
from bigcodeflow_clouds.batches.calls import BatchSearch
from bigcodeflow_clouds.batches.log import Batch, BatchStatus

#: Maximum clock difference to Anthropic. To check a wrong batch costs a request; a missed batch costs money.
_CLOCK_DIFFERENCE = timedelta(hours=1)
_STATUSES: Mapping[str, int] = {
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


class AnthropicBatches(BatchApi):
    path, after = "/v1/messages/batches", "after_id"
    opened = AnthropicProvider

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._tags: dict[str, str] = {}
        """Tag of each ended batch (from its first custom ID), by batch ID."""

    def entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        return {"custom_id": custom_id, "params": self.provider.body(request)}

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        requests = [self.entry(*entry) for entry in entries]
        return self.id_of(await self.provider.json("POST", self.path, {"requests": requests}))

    async def find(self, lost: Batch, others: Container[str]) -> BatchSearch:
        """Search the batch ``lost`` by time, size and tag; running batches, whose tag is hidden, are undecided."""
        undecided = []
        async for batch in self.all_batches():  # newest first
            if time_of(required_text(batch, "created_at")) < lost.intended_at - _CLOCK_DIFFERENCE:
                break
            batch_id = self.id_of(batch)
            size = sum(count for count in (batch.get("request_counts") or {}).values() if isinstance(count, int))
            if batch_id in others or size != len(lost.entries):
                continue
            if batch.get("processing_status") != "ended":
                undecided.append(batch_id)
            elif await self._first_tag(batch) == lost.tag:
                return BatchSearch(batch_id)
        return BatchSearch(None, tuple(undecided))

    async def status(self, batch_id: str) -> BatchStatus:
        """Return a batch's progress; the counts of finished requests are 0 until the whole batch has ended."""
        batch = await self.state(batch_id)
        if batch.get("archived_at"):
            gone = f"batch {batch_id} is archived: Anthropic no longer keeps its results"
            return BatchStatus(ended=True, rejection=RequestError("deadline", gone))
        counts = batch.get("request_counts") or {}
        return BatchStatus(
            ended=required_text(batch, "processing_status") == "ended",
            succeeded=counts.get("succeeded") or 0,
            failed=sum(counts.get(name) or 0 for name in ("errored", "canceled", "expired")),
            duration_seconds=seconds_between(batch.get("created_at"), batch.get("ended_at")),
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        async with aclosing(self.provider.result_lines(f"{self.path}/{batch_id}/results")) as lines:
            async for line in lines:
                yield line["custom_id"], self._result_outcome(line.get("result") or {})

    async def _first_tag(self, batch: Mapping[str, Any]) -> str:
        batch_id = self.id_of(batch)
        if batch_id not in self._tags and not batch.get("archived_at"):
            async with aclosing(self.results(batch_id)) as results:
                custom_id, _ = await anext(results, ("", None))
            self._tags[batch_id] = tag_of(custom_id)
        return self._tags.get(batch_id, "")

    def _result_outcome(self, result: Mapping[str, Any]) -> Reply | RequestError:
        kind = result.get("type")
        if kind == "succeeded":
            return self.outcome(HTTPStatus.OK, result.get("message"))
        if kind == "errored":
            error = result.get("error") or {}
            name = str((error.get("error") or {}).get("type"))
            return self.outcome(_STATUSES.get(name), error)
        return RequestError("deadline", f"{kind}: the batch ended before this request was processed")
