"""Gemini's batch API over HTTP: requests and answers are in the batch itself; its display name is its tag."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Container, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar

from google.genai import types

from bigcodeflow.generation.batch_log import LoggedBatch
from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.batch_apis import (
    BatchApi,
    BatchSearch,
    BatchStatus,
    ProviderBatchLimits,
    required_text,
    tag_of,
)
from bigcodeflow.generation.providers.google import GoogleProvider, content_reply
from bigcodeflow.generation.providers.http_client import NO_KEY, HttpProvider, compact_json, shown, status_error

_ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"})
#: Codes of google.rpc and the corresponding HTTP statuses.
_STATUSES: Mapping[int, int] = {1: 408, 3: 400, 4: 408, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}


class _GeminiHttp(HttpProvider):
    """HTTP client with the SDK's address and bodies, but without its waits and retries."""

    address = GoogleProvider.address

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, {"x-goog-api-key": endpoint.api_key or NO_KEY})
        self._contents = GoogleProvider(endpoint)

    def body(self, request: Request) -> Mapping[str, Any]:
        return self._contents.body(request)

    async def aclose(self) -> None:
        await super().aclose()
        await self._contents.aclose()


class GoogleBatches(BatchApi):
    """Batches with inline requests, which Google accepts up to 20 MB."""

    path = "/v1beta/batches"
    limits: ClassVar[ProviderBatchLimits] = ProviderBatchLimits(requests=50_000, size_bytes=19 * 10**6)

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(_GeminiHttp(endpoint))

    def size_bytes(self, custom_id: str, request: Request) -> int:
        return len(compact_json(self._entry(custom_id, request))) + 1  # the comma of the list

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        requests = [self._entry(custom_id, request) for custom_id, request in entries]
        batch = {"displayName": tag_of(entries[0][0]), "inputConfig": {"requests": {"requests": requests}}}
        path = f"/v1beta/models/{self.provider.endpoint.model}:batchGenerateContent"
        return required_text(await self.provider.json("POST", path, {"batch": batch}), "name").rpartition("/")[2]

    async def find(self, lost: LoggedBatch, others: Container[str]) -> BatchSearch:
        async for operation in self._operations():
            batch_id = required_text(operation, "name").rpartition("/")[2]
            if batch_id not in others and (operation.get("metadata") or {}).get("displayName") == lost.tag:
                return BatchSearch(batch_id)
        return BatchSearch(None)

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the progress; a batch that ended with an error, thus without answers, is rejected as a whole."""
        operation = await self.provider.json("GET", f"{self.path}/{batch_id}")
        metadata = operation.get("metadata") or {}
        state = str(metadata.get("state") or "").removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        error = operation.get("error")
        if error:
            status = _STATUSES.get(error.get("code") or 0, 500)
            rejection = status_error(status, {}, json.dumps({"error": error}), secret=self._key)
            return BatchStatus(ended=True, rejection=rejection)
        counts = metadata.get("batchStats") or {}
        start, end = _time(metadata.get("createTime")), _time(metadata.get("endTime"))
        return BatchStatus(
            ended=bool(operation.get("done")) or state in _ENDED,
            succeeded=int(counts.get("successfulRequestCount") or 0),
            failed=int(counts.get("failedRequestCount") or 0),
            duration_seconds=(end - start).total_seconds() if start and end else None,
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        operation = await self.provider.json("GET", f"{self.path}/{batch_id}")
        inlined = (operation.get("response") or {}).get("inlinedResponses") or {}
        for one in inlined.get("inlinedResponses") or ():
            custom_id = (one.get("metadata") or {}).get("key") if isinstance(one, dict) else None
            if isinstance(custom_id, str):
                yield custom_id, self._outcome(one)

    async def _operations(self) -> AsyncIterator[dict[str, Any]]:
        token = ""
        while True:
            page = await self.provider.json(
                "GET", self.path, params={"pageSize": 100, **({"pageToken": token} if token else {})}
            )
            for operation in page.get("operations") or ():
                if isinstance(operation, dict):
                    yield operation
            token = page.get("nextPageToken") or ""
            if not token:
                return

    def _entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        return {"request": self.provider.body(request), "metadata": {"key": custom_id}}

    def _outcome(self, one: Mapping[str, Any]) -> Reply | RequestError:
        error = one.get("error")
        if error:
            status = _STATUSES.get(error.get("code") or 0, HTTPStatus.INTERNAL_SERVER_ERROR)
            return status_error(status, {}, json.dumps({"error": error}), secret=self._key)
        try:
            return content_reply(types.GenerateContentResponse.model_validate(one.get("response") or {}))
        except RequestError as problem:
            return problem
        except ValueError as problem:
            return RequestError("malformed", shown(f"the answer is no response: {problem}", self._key))


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
