"""Batch APIs of providers: many requests are submitted at once and answered within a day, at a lower price.

This module has OpenAI's API, which takes a file of requests and returns files of answers and errors. Batches have a tag
as metadata, so that a batch whose ID was lost is identified with certainty.
"""

# ruff: noqa: ARG002 (every API has the same signatures)

import asyncio
import json
import tempfile
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import count
from typing import Any, ClassVar

from bigcodeflow.generation.batches import Batches, BatchOutcome, BatchRun
from bigcodeflow.generation.model_api import ErrorKind, Reply, Request, RequestError
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.chat_completions import OpenAIProvider
from bigcodeflow.generation.providers.http_client import HttpProvider, compact_json, shown, status_error
from bigcodeflow_clouds.batches.calls import BatchCalls, BatchSearch
from bigcodeflow_clouds.batches.driver import BatchSettings, Driver
from bigcodeflow_clouds.batches.log import Batch, BatchStatus, open_batch_log

_TAG = "bigcodeflow"
_OPENAI_ENDED = frozenset({"completed", "expired", "cancelled"})
_OPENAI_NOT_ASKED = frozenset({"batch_expired", "batch_cancelled", "request_timeout"})


class BatchApi(BatchCalls, Batches):
    """An open connection to the batch API of one model, with the calls that most APIs share."""

    path: ClassVar[str]
    """Path of the account's batches."""
    first_page: ClassVar[Mapping[str, Any]] = {"limit": 100}
    """Query parameters for the first page of the list of batches."""
    after: ClassVar[str] = ""
    """Query parameter for the ID of the previous page's last batch; empty if `next_page` uses another parameter."""
    listed: ClassVar[str] = "data"
    """Field of a page that has its batches."""
    opened: ClassVar[type[HttpProvider]]

    def __init__(self, endpoint: Endpoint) -> None:
        self._key, self.provider = endpoint.api_key, self.opened(endpoint)

    async def run(
        self, requests: Iterable[Request], run: BatchRun, settings: BatchSettings | None = None
    ) -> BatchOutcome:
        with open_batch_log(run.folder) as log:
            driver = Driver(self, log, run, settings or BatchSettings())
            driver.plan(requests)
            try:
                return await driver.run()
            except asyncio.CancelledError:
                if going_on := driver.going_on:
                    run.notify(f"interrupted{going_on}")
                raise

    async def find(self, lost: Batch, others: Container[str]) -> BatchSearch:
        """Search the provider's list for the batch ``lost``, skipping IDs in ``others``, which are other batches.

        The whole list is searched for the batch's tag, because no provider promises an order of the list.
        """
        async for batch in self.all_batches():
            if self.tag(batch) == lost.tag and (batch_id := self.id_of(batch)) not in others:
                return BatchSearch(batch_id)
        return BatchSearch(None)

    async def aclose(self) -> None:
        await self.provider.aclose()

    def id_of(self, batch: Mapping[str, Any]) -> str:
        return required_text(batch, "id")

    def tag(self, batch: Mapping[str, Any]) -> str | None:
        """Return the tag that this project gave to a listed batch; None if another program made the batch."""
        tag: str | None = (batch.get("metadata") or {}).get(_TAG)
        return tag

    async def all_batches(self) -> AsyncIterator[dict[str, Any]]:
        """Yield each batch of the account; the provider's list is read page by page."""
        further: dict[str, Any] = {}
        for number in count(1):
            page = await self.provider.json("GET", self.path, params={**self.first_page, **further})
            batches = [batch for batch in page.get(self.listed) or () if isinstance(batch, dict)]
            for batch in batches:
                yield batch
            further = self.next_page(page, batches, number)
            if not further:
                return

    def next_page(self, page: Mapping[str, Any], batches: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        """Return the query parameters for the page that follows ``page``; an empty dict after the last page."""
        return {self.after: self.id_of(batches[-1])} if batches and page.get("has_more") else {}

    async def state(self, batch_id: str) -> dict[str, Any]:
        """Return the provider's description of a batch."""
        return await self.provider.json("GET", f"{self.path}/{batch_id}")

    def outcome(self, status: int | None, body: Any, request_id: str | None = None) -> Reply | RequestError:
        """Convert the provider's response to a single request of a batch into a reply or an error."""
        if status != HTTPStatus.OK:
            return status_error(status or 500, {}, json.dumps(body), secret=self._key)
        try:
            return self.provider.reply(body or {}, request_id)
        except RequestError as problem:
            return problem


class FileBatches(BatchApi):
    """Batches whose requests and results are files with one JSON object per line."""

    files: ClassVar[str]
    """Path of the account's files."""
    result_files: ClassVar[tuple[str, str]]
    """Fields of a batch that name the files of its answers and of its errors."""

    @abstractmethod
    def job(self, file_id: str, first: Request) -> dict[str, Any]:
        """Return the body, without tag, of the call that starts a batch; ``first`` is the batch's first request."""

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Upload a file of requests, start a batch from the file, and return the batch's ID."""
        tag = tag_of(entries[0][0])
        with tempfile.TemporaryFile() as file:
            file.writelines(compact_json(self.entry(*entry)) + b"\n" for entry in entries)
            file.seek(0)
            named = {"file": (f"{tag}.jsonl", file, "application/jsonl")}
            uploaded = await self.provider.json("POST", self.files, data={"purpose": "batch"}, files=named)
        job = self.job(required_text(uploaded, "id"), entries[0][1]) | {"metadata": {_TAG: tag}}
        return self.id_of(await self.provider.json("POST", self.path, job))

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """Yield custom ID and outcome of each request, answers first; unprocessed requests may be missing."""
        batch = await self.state(batch_id)
        for file_id in filter(None, map(batch.get, self.result_files)):
            async with aclosing(self.provider.result_lines(f"{self.files}/{file_id}/content")) as lines:
                async for line in lines:
                    yield line["custom_id"], self.line_outcome(line)

    @abstractmethod
    def line_outcome(self, line: Mapping[str, Any]) -> Reply | RequestError:
        """Convert a line of a result file into a reply or an error."""


class OpenAIBatches(FileBatches):
    """Batches of OpenAI: of chat completions, or of text completions if the prompt's form is 'direct'."""

    path, files, after = "/batches", "/files", "after"
    result_files = ("output_file_id", "error_file_id")
    opened = OpenAIProvider

    def job(self, file_id: str, first: Request) -> dict[str, Any]:
        return {"input_file_id": file_id, "endpoint": self._url(first), "completion_window": "24h"}

    def entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        body = self.provider.body(request)
        return {"custom_id": custom_id, "method": "POST", "url": self._url(request), "body": body}

    async def status(self, batch_id: str) -> BatchStatus:
        """Return a batch's progress; if OpenAI's validation failed the batch, ``rejection`` holds the reason."""
        batch = await self.state(batch_id)
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
            duration_seconds=seconds_between(batch.get("created_at"), ended),
        )

    def line_outcome(self, line: Mapping[str, Any]) -> Reply | RequestError:
        response, error = line.get("response"), line.get("error") or {}
        if not response:
            code = error.get("code") or "unknown"
            kind: ErrorKind = "deadline" if code in _OPENAI_NOT_ASKED else "overloaded"
            return RequestError(kind, shown(f"{code}: {error.get('message') or 'no message'}", self._key))
        return self.outcome(response.get("status_code"), response.get("body"), response.get("request_id"))

    def _url(self, request: Request) -> str:
        return "/v1" + self.provider.path(request)


def tag_of(custom_id: str) -> str:
    return custom_id.rpartition("-")[0]


def required_text(data: Mapping[str, Any], name: str) -> str:
    """Return the text in the field ``name`` of a provider's answer; raise RequestError if the field has no text."""
    value = data.get(name)
    if isinstance(value, str) and value:
        return value
    raise RequestError("malformed", f"the answer about a batch has no field {name!r}")


def seconds_between(start: Any, end: Any) -> float | None:
    """Return the seconds between two times (Unix or ISO 8601); None if either is missing or invalid."""
    with suppress(TypeError, ValueError, RequestError):
        times = [time_of(one).timestamp() if isinstance(one, str) else float(one) for one in (start, end)]
        return times[1] - times[0]
    return None


def time_of(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise RequestError("malformed", f"the answer about a batch has an invalid time: {text[:40]!r}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
