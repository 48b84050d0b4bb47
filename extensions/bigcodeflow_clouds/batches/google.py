"""Gemini's batch API over HTTP: requests and answers are in the batch itself; its display name is its tag."""

# ruff: noqa: ARG002 (every API has the same signatures)

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from google.genai import types

from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.http_client import NO_KEY, HttpProvider, shown, status_error
from bigcodeflow_clouds.batches.apis import BatchApi, required_text, seconds_between, tag_of
from bigcodeflow_clouds.batches.log import BatchStatus
from bigcodeflow_clouds.google import GoogleProvider, content_reply

_ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"})
#: Codes of google.rpc and the corresponding HTTP statuses.
_STATUSES: Mapping[int, int] = {1: 408, 3: 400, 4: 408, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}


class _GeminiHttp(HttpProvider):
    """HTTP client for Gemini that sends the same bodies as `GoogleProvider`, but without the SDK's retries."""

    address = GoogleProvider.address

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, {"x-goog-api-key": endpoint.api_key or NO_KEY})
        self._contents = GoogleProvider(endpoint)

    def body(self, request: Request) -> Mapping[str, Any]:
        return self._contents.body(request)

    def reply(self, data: Mapping[str, Any], request_id: str | None = None) -> Reply:
        try:
            return content_reply(types.GenerateContentResponse.model_validate(data))
        except ValueError as problem:
            message = shown(f"the answer is no valid response of Gemini: {problem}", self.endpoint.api_key)
            raise RequestError("malformed", message) from None

    async def aclose(self) -> None:
        await super().aclose()
        await self._contents.aclose()


class GoogleBatches(BatchApi):
    """Batches of Gemini: the requests are in the submitting call itself, which may have up to 20 MB."""

    path, listed = "/v1beta/batches", "operations"
    first_page: ClassVar[Mapping[str, Any]] = {"pageSize": 100}
    most_bytes: ClassVar[int] = 19 * 10**6
    opened = _GeminiHttp

    def id_of(self, batch: Mapping[str, Any]) -> str:
        return required_text(batch, "name").rpartition("/")[2]

    def tag(self, batch: Mapping[str, Any]) -> str | None:
        tag: str | None = (batch.get("metadata") or {}).get("displayName")
        return tag

    def next_page(self, page: Mapping[str, Any], batches: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        token = page.get("nextPageToken")
        return {"pageToken": token} if token else {}

    def entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        return {"request": self.provider.body(request), "metadata": {"key": custom_id}}

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        requests = [self.entry(*entry) for entry in entries]
        batch = {"displayName": tag_of(entries[0][0]), "inputConfig": {"requests": {"requests": requests}}}
        path = f"/v1beta/models/{self.provider.endpoint.model}:batchGenerateContent"
        return self.id_of(await self.provider.json("POST", path, {"batch": batch}))

    async def status(self, batch_id: str) -> BatchStatus:
        """Return a batch's progress; ``rejection`` holds the error if the batch failed as a whole, without answers."""
        operation = await self.state(batch_id)
        if error := operation.get("error"):
            return BatchStatus(ended=True, rejection=self._error(error))
        metadata = operation.get("metadata") or {}
        state = str(metadata.get("state") or "").removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        counts = metadata.get("batchStats") or {}
        return BatchStatus(
            ended=bool(operation.get("done")) or state in _ENDED,
            succeeded=int(counts.get("successfulRequestCount") or 0),
            failed=int(counts.get("failedRequestCount") or 0),
            duration_seconds=seconds_between(metadata.get("createTime"), metadata.get("endTime")),
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        operation = await self.state(batch_id)
        inlined = (operation.get("response") or {}).get("inlinedResponses") or {}
        for one in inlined.get("inlinedResponses") or ():
            custom_id = (one.get("metadata") or {}).get("key") if isinstance(one, dict) else None
            if isinstance(custom_id, str):
                error = one.get("error")
                yield custom_id, self._error(error) if error else self.outcome(HTTPStatus.OK, one.get("response"))

    def _error(self, error: Mapping[str, Any]) -> RequestError:
        status = _STATUSES.get(error.get("code") or 0, HTTPStatus.INTERNAL_SERVER_ERROR)
        return status_error(status, {}, json.dumps({"error": error}), secret=self._key)
