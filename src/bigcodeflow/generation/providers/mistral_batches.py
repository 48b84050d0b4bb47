"""Mistral's batch API: a file of requests for one model, and files of answers and of errors; jobs have a tag."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Container, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from itertools import starmap
from typing import Any, ClassVar

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
from bigcodeflow.generation.providers.chat_completions import MistralProvider, completion_reply
from bigcodeflow.generation.providers.http_client import compact_json, shown, status_error

_TAG = "bigcodeflow"
_ENDED = frozenset({"SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"})
_PAGE = 100


class MistralBatches(BatchApi):
    """Batch jobs of chats."""

    path = "/v1/batch/jobs"
    limits: ClassVar[ProviderBatchLimits] = ProviderBatchLimits(requests=1_000_000, size_bytes=500 * 10**6)

    def __init__(self, endpoint: Endpoint) -> None:
        self._provider = MistralProvider(endpoint)
        super().__init__(self._provider)

    def size_bytes(self, custom_id: str, request: Request) -> int:
        return len(self._line(custom_id, request))

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Upload the requests and start the job; a file that is left without a job costs nothing."""
        tag = tag_of(entries[0][0])
        wanted = {
            "input_files": [await self._upload("/v1/files", tag, starmap(self._line, entries))],
            "endpoint": self._provider.path(entries[0][1]),
            "model": self.provider.endpoint.model,
            "metadata": {_TAG: tag},
        }
        return required_text(await self.provider.json("POST", self.path, wanted), "id")

    async def find(self, lost: LoggedBatch, others: Container[str]) -> BatchSearch:
        async for job in self._jobs():
            if job.get("id") not in others and (job.get("metadata") or {}).get(_TAG) == lost.tag:
                return BatchSearch(required_text(job, "id"))
        return BatchSearch(None)

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the progress; a job that failed without a single answer is rejected as a whole."""
        job = await self.provider.json("GET", f"{self.path}/{batch_id}")
        state, succeeded = required_text(job, "status"), job.get("succeeded_requests") or 0
        if state == "FAILED" and not succeeded:
            errors = [str(error.get("message")) for error in job.get("errors") or () if isinstance(error, dict)]
            message = shown(f"batch rejected: {'; '.join(errors[:3]) or 'no reason given'}", self._key)
            return BatchStatus(ended=True, rejection=RequestError("bad_request", message))
        start, end = job.get("created_at"), job.get("completed_at")
        return BatchStatus(
            ended=state in _ENDED,
            succeeded=succeeded,
            failed=job.get("failed_requests") or 0,
            duration_seconds=float(end - start) if start and end else None,
        )

    async def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        job = await self.provider.json("GET", f"{self.path}/{batch_id}")
        for file_id in filter(None, (job.get("output_file"), job.get("error_file"))):
            async with aclosing(self.provider.result_lines(f"/v1/files/{file_id}/content")) as lines:
                async for line in lines:
                    yield line["custom_id"], self._outcome(line)

    async def _jobs(self) -> AsyncIterator[dict[str, Any]]:
        page = 0
        while True:
            found = await self.provider.json("GET", self.path, params={"page": page, "page_size": _PAGE})
            jobs = [job for job in found.get("data") or () if isinstance(job, dict)]
            for job in jobs:
                yield job
            page += 1
            if not jobs or page * _PAGE >= (found.get("total") or 0):
                return

    def _line(self, custom_id: str, request: Request) -> bytes:
        body = {name: value for name, value in self._provider.body(request).items() if name not in {"model", "stream"}}
        return compact_json({"custom_id": custom_id, "body": body}) + b"\n"

    def _outcome(self, line: Mapping[str, Any]) -> Reply | RequestError:
        response, error = line.get("response"), line.get("error")
        if not response:
            return RequestError("deadline", shown(f"not asked: {json.dumps(error)}", self._key))
        body, status = response.get("body"), response.get("status_code")
        if status != HTTPStatus.OK:
            return status_error(status or 500, {}, json.dumps(body), secret=self._key)
        try:
            return completion_reply(body or {}, secret=self._key)
        except RequestError as problem:
            return problem
