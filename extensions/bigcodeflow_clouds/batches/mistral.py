"""Mistral's batch API: a file of requests, and files of answers and errors, as in OpenAI's batch API."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers.chat_completions import MistralProvider
from bigcodeflow.generation.providers.http_client import shown
from bigcodeflow_clouds.batches.apis import FileBatches, required_text, seconds_between
from bigcodeflow_clouds.batches.log import BatchStatus

_ENDED = frozenset({"SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"})
_PAGE = 100


class MistralBatches(FileBatches):
    """Batches of Mistral: chats with a single model."""

    path, files = "/v1/batch/jobs", "/v1/files"
    result_files = ("output_file", "error_file")
    first_page: ClassVar[Mapping[str, Any]] = {"page": 0, "page_size": _PAGE}
    opened = MistralProvider

    def next_page(self, page: Mapping[str, Any], batches: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        return {"page": number} if batches and number * _PAGE < (page.get("total") or 0) else {}

    def job(self, file_id: str, first: Request) -> dict[str, Any]:
        return {"input_files": [file_id], "endpoint": self.provider.path(first), "model": self.provider.endpoint.model}

    def entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        body = {name: value for name, value in self.provider.body(request).items() if name not in {"model", "stream"}}
        return {"custom_id": custom_id, "body": body}

    async def status(self, batch_id: str) -> BatchStatus:
        """Return a batch's progress; ``rejection`` holds the errors of a batch that failed without any answer."""
        job = await self.state(batch_id)
        state, succeeded = required_text(job, "status"), job.get("succeeded_requests") or 0
        if state == "FAILED" and not succeeded:
            errors = [str(error.get("message")) for error in job.get("errors") or () if isinstance(error, dict)]
            message = shown(f"batch rejected: {'; '.join(errors[:3]) or 'no reason given'}", self._key)
            return BatchStatus(ended=True, rejection=RequestError("bad_request", message))
        return BatchStatus(
            ended=state in _ENDED,
            succeeded=succeeded,
            failed=job.get("failed_requests") or 0,
            duration_seconds=seconds_between(job.get("created_at"), job.get("completed_at")),
        )

    def line_outcome(self, line: Mapping[str, Any]) -> Reply | RequestError:
        response = line.get("response")
        if not response:
            return RequestError("deadline", shown(f"not asked: {json.dumps(line.get('error'))}", self._key))
        return self.outcome(response.get("status_code"), response.get("body"))
