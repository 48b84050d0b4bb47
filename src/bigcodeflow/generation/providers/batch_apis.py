"""Batch APIs of providers: many requests are submitted at once and answered within a day, at a lower price.

This module has the APIs of OpenAI and Anthropic; those of Google and Mistral are in separate modules.

OpenAI takes a file of requests and returns files of answers and of errors. A batch has its tag as metadata, so that a
batch whose ID was lost is identified with certainty.

Anthropic's batches have no metadata: the tag is in their custom IDs, which only the results show. While a batch whose
ID was lost is running, only its time and size are known; its tag identifies it after it has ended. Until then nothing
is sent again. Limitation: a batch that is gone from the account's list, or that was submitted with another key, is not
detected.
"""

import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import starmap
from typing import Any, ClassVar, NamedTuple

from bigcodeflow.generation.batch_log import LoggedBatch
from bigcodeflow.generation.model_api import ErrorKind, Reply, Request, RequestError
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.anthropic import AnthropicProvider, message_reply
from bigcodeflow.generation.providers.chat_completions import OpenAIProvider, completion_reply
from bigcodeflow.generation.providers.http_client import HttpProvider, compact_json, shown, status_error

_OPENAI_TAG = "bigcodeflow"
_OPENAI_ENDED = frozenset({"completed", "expired", "cancelled"})
_OPENAI_NOT_ASKED = frozenset({"batch_expired", "batch_cancelled", "request_timeout"})
#: Maximum clock difference to Anthropic; a batch looked at in vain costs a request, a missed batch costs money.
_CLOCK_DIFFERENCE = timedelta(hours=1)
_ANTHROPIC_STATUSES: Mapping[str, int] = {
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


class ProviderBatchLimits(NamedTuple):
    requests: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """Progress of a batch, as the provider states it."""

    ended: bool
    """True if no more results will come, so that the results can be collected."""
    succeeded: int = 0
    failed: int = 0
    """Refused, failed, expired or cancelled requests; some providers count them only after the batch has ended."""
    duration_seconds: float | None = None
    """Time from submission to the end; None if the batch has not ended or the provider does not state it."""
    rejection: RequestError | None = None
    """Reason why the provider accepted none of the requests, such as a queue that is too short for the batch."""


class BatchSearch(NamedTuple):
    batch_id: str | None
    """ID of the batch; None if the batch does not exist, or cannot be identified yet."""
    undecided: tuple[str, ...] = ()
    """Batches that may be the lost batch, but do not show their tag before they end."""


class BatchApi(ABC):
    """An open connection to the batch API of one model; used by one event loop.

    Every method raises RequestError if there is no answer, and sends once: the driver does the retries.
    """

    limits: ClassVar[ProviderBatchLimits]
    path: ClassVar[str]
    after: ClassVar[str] = ""
    """Query parameter for the last batch of the previous page, for APIs that list batches in pages."""

    def __init__(self, provider: HttpProvider) -> None:
        self._key, self.provider = provider.endpoint.api_key, provider

    @abstractmethod
    def size_bytes(self, custom_id: str, request: Request) -> int:
        """Return the number of bytes that a request uses in a batch."""

    @abstractmethod
    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Submit requests and return the batch's ID; all custom IDs begin with the same tag, which `find` searches."""

    @abstractmethod
    async def find(self, lost: LoggedBatch, others: Container[str]) -> BatchSearch:
        """Search the provider's list for a batch that may have been submitted and is not in ``others``."""

    @abstractmethod
    async def status(self, batch_id: str) -> BatchStatus:
        """Return the progress of a batch."""

    @abstractmethod
    def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """Yield custom ID and outcome of each request of an ended batch, in any order; some may be missing."""

    async def aclose(self) -> None:
        await self.provider.aclose()

    async def _upload(self, address: str, tag: str, lines: Iterable[bytes]) -> str:
        """Upload a file with one request per line, and return its ID."""
        with tempfile.TemporaryFile() as file:
            file.writelines(lines)
            file.seek(0)
            named = {"file": (f"{tag}.jsonl", file, "application/jsonl")}
            return required_text(
                await self.provider.json("POST", address, data={"purpose": "batch"}, files=named), "id"
            )

    async def _all_batches(self) -> AsyncIterator[dict[str, Any]]:
        last: dict[str, str] = {}
        while True:
            page = await self.provider.json("GET", self.path, params={"limit": 100, **last})
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            for batch in batches:
                yield batch
            if not batches or not page.get("has_more"):
                return
            last = {self.after: required_text(batches[-1], "id")}


class OpenAIBatches(BatchApi):
    """Batches of chat completions or, for the form 'direct', of text completions; a batch has a single form."""

    path = "/batches"
    after = "after"
    limits: ClassVar[ProviderBatchLimits] = ProviderBatchLimits(requests=50_000, size_bytes=200 * 10**6)

    def __init__(self, endpoint: Endpoint) -> None:
        self._provider = OpenAIProvider(endpoint)
        super().__init__(self._provider)

    def size_bytes(self, custom_id: str, request: Request) -> int:
        return len(self._line(custom_id, request))

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Upload the requests and start the batch; a file that is left without a batch costs nothing."""
        tag = tag_of(entries[0][0])
        wanted = {
            "input_file_id": await self._upload("/files", tag, starmap(self._line, entries)),
            "endpoint": self._url(entries[0][1]),
            "completion_window": "24h",
            "metadata": {_OPENAI_TAG: tag},
        }
        return required_text(await self.provider.json("POST", self.path, wanted), "id")

    async def find(self, lost: LoggedBatch, others: Container[str]) -> BatchSearch:
        """Check all batches for the tag, because OpenAI does not promise their order."""
        async for batch in self._all_batches():
            if batch.get("id") not in others and (batch.get("metadata") or {}).get(_OPENAI_TAG) == lost.tag:
                return BatchSearch(required_text(batch, "id"))
        return BatchSearch(None)

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the progress; a batch that fails its validation is rejected as a whole."""
        batch = await self.provider.json("GET", f"{self.path}/{batch_id}")
        state = required_text(batch, "status")
        if state == "failed":
            problem = ((batch.get("errors") or {}).get("data") or [{}])[0]
            code, message = problem.get("code") or "failed", problem.get("message") or "no reason given"
            # A model's batch queue has a token limit; single requests do not use the queue.
            queue_full = code == "token_limit_exceeded"
            kind = "rate_limited" if queue_full else status_error(400, {}, json.dumps(problem)).kind
            rejection = RequestError(kind, shown(f"batch rejected: {code}: {message}", self._key))
            return BatchStatus(ended=True, rejection=rejection)
        counts = batch.get("request_counts") or {}
        ended = next((batch[f"{name}_at"] for name in sorted(_OPENAI_ENDED) if batch.get(f"{name}_at")), None)
        return BatchStatus(
            ended=state in _OPENAI_ENDED,
            succeeded=counts.get("completed") or 0,
            failed=counts.get("failed") or 0,
            duration_seconds=float(ended - batch["created_at"]) if ended and batch.get("created_at") else None,
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """Yield answers, then errors; requests that were not asked before the end are errors or missing."""
        batch = await self.provider.json("GET", f"{self.path}/{batch_id}")
        for file_id in filter(None, (batch.get("output_file_id"), batch.get("error_file_id"))):
            async with aclosing(self.provider.result_lines(f"/files/{file_id}/content")) as lines:
                async for line in lines:
                    yield line["custom_id"], self._outcome(line)

    def _url(self, request: Request) -> str:
        return "/v1" + self._provider.path(request)

    def _line(self, custom_id: str, request: Request) -> bytes:
        body = self._provider.body(request)
        line = {"custom_id": custom_id, "method": "POST", "url": self._url(request), "body": body}
        return compact_json(line) + b"\n"

    def _outcome(self, line: Mapping[str, Any]) -> Reply | RequestError:
        response, error = line.get("response"), line.get("error") or {}
        if not response:
            code = error.get("code") or "unknown"
            kind: ErrorKind = "deadline" if code in _OPENAI_NOT_ASKED else "overloaded"
            return RequestError(kind, shown(f"{code}: {error.get('message') or 'no message'}", self._key))
        body, status = response.get("body"), response.get("status_code")
        if status != HTTPStatus.OK:
            return status_error(status or 500, {}, json.dumps(body), secret=self._key)
        try:
            return completion_reply(body or {}, request_id=response.get("request_id"), secret=self._key)
        except RequestError as problem:
            return problem


class AnthropicBatches(BatchApi):
    path = "/v1/messages/batches"
    after = "after_id"
    limits: ClassVar[ProviderBatchLimits] = ProviderBatchLimits(requests=100_000, size_bytes=256 * 10**6)

    def __init__(self, endpoint: Endpoint) -> None:
        self._provider = AnthropicProvider(endpoint)
        super().__init__(self._provider)
        self._tags: dict[str, str] = {}
        """Tag in the first custom ID of each ended batch, by batch ID."""

    def size_bytes(self, custom_id: str, request: Request) -> int:
        return len(compact_json(self._entry(custom_id, request))) + 1  # the comma of the list

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        requests = [self._entry(custom_id, request) for custom_id, request in entries]
        return required_text(await self.provider.json("POST", self.path, {"requests": requests}), "id")

    async def find(self, lost: LoggedBatch, others: Container[str]) -> BatchSearch:
        """Check the account's batches of that time and size; ended batches show their tag in their results."""
        undecided = []
        async for batch in self._all_batches():  # newest first
            if _time(required_text(batch, "created_at")) < lost.intended_at - _CLOCK_DIFFERENCE:
                break
            batch_id = required_text(batch, "id")
            size = sum(count for count in (batch.get("request_counts") or {}).values() if isinstance(count, int))
            if batch_id in others or size != len(lost.entries):
                continue
            if batch.get("processing_status") != "ended":
                undecided.append(batch_id)
            elif await self._tag(batch) == lost.tag:
                return BatchSearch(batch_id)
        return BatchSearch(None, tuple(undecided))

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the progress; all counts except 'processing' are 0 until the batch has ended."""
        batch = await self.provider.json("GET", f"{self.path}/{batch_id}")
        if batch.get("archived_at"):
            gone = f"batch {batch_id} is archived: its results are no longer kept"
            return BatchStatus(ended=True, rejection=RequestError("deadline", gone))
        counts = batch.get("request_counts") or {}
        start, end = batch.get("created_at"), batch.get("ended_at")
        return BatchStatus(
            ended=required_text(batch, "processing_status") == "ended",
            succeeded=counts.get("succeeded") or 0,
            failed=sum(counts.get(name) or 0 for name in ("errored", "canceled", "expired")),
            duration_seconds=(_time(end) - _time(start)).total_seconds() if start and end else None,
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        async with aclosing(self.provider.result_lines(f"{self.path}/{batch_id}/results")) as lines:
            async for line in lines:
                yield line["custom_id"], self._outcome(line.get("result") or {})

    def _entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        return {"custom_id": custom_id, "params": self._provider.body(request)}

    async def _tag(self, batch: Mapping[str, Any]) -> str:
        batch_id = required_text(batch, "id")
        if batch_id not in self._tags and not batch.get("archived_at"):
            async with aclosing(self.results(batch_id)) as results:
                custom_id, _ = await anext(results, ("", None))
            self._tags[batch_id] = tag_of(custom_id)
        return self._tags.get(batch_id, "")

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
            return status_error(_ANTHROPIC_STATUSES.get(name, 500), {}, json.dumps(error), secret=self._key)
        return RequestError("deadline", f"{kind}: the batch ended before this was asked")


def tag_of(custom_id: str) -> str:
    return custom_id.rpartition("-")[0]


def required_text(data: Mapping[str, Any], name: str) -> str:
    """Return a required text of an answer about a batch; raise RequestError if it is missing."""
    value = data.get(name)
    if isinstance(value, str) and value:
        return value
    raise RequestError("malformed", f"the answer about a batch has no {name!r}")


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise RequestError("malformed", f"the answer about a batch has no time: {text[:40]!r}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
