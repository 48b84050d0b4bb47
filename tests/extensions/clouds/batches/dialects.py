"""Batches of Google's, with requests and answers inside, and jobs of Mistral's, whose files are as OpenAI's."""

import json
from datetime import timedelta
from typing import Any

from .double import CREATE, DIALECTS, Batch, Dialect, OpenAI, StatusError, outcome_of, prompt_of


class _Google(Dialect):
    def handle(self, method: str, path: str, query: dict[str, str], body: bytes, headers: Any) -> Any:
        account = self.account
        if headers.get("x-goog-api-key") != account.key:
            raise StatusError(401, f"API key not valid: {headers.get('x-goog-api-key')}")
        match method, path.removeprefix("/v1beta/").split("/"):
            case "POST", ["models", "m-1:batchGenerateContent"]:
                return self.show(self.create(json.loads(body)["batch"]))
            case "GET", ["batches"]:
                return self.list_of(query)
            case "GET", ["batches", batch_id] if batch_id in account.batches:
                return self.polled(account.batches[batch_id])
        raise StatusError(404, f"no such thing: {method} {path}")

    def create(self, wanted: dict[str, Any]) -> Batch:
        requests = wanted["inputConfig"]["requests"]["requests"]
        if not all(set(one["request"]) <= {"contents", "systemInstruction", "generationConfig"} for one in requests):
            raise StatusError(400, "unknown field in a request")
        entries = [(one["metadata"]["key"], one["request"]) for one in requests]
        return self.account.add(entries, metadata={"name": wanted["displayName"]})

    def list_of(self, query: dict[str, str]) -> dict[str, Any]:
        batches, start = self.account.newest_first(), int(query.get("pageToken", 0))
        end = start + min(int(query["pageSize"]), 100)
        more = {"nextPageToken": str(end)} if end < len(batches) else {}
        return {"operations": [self.show(batch) for batch in batches[start:end]]} | more

    def show(self, batch: Batch) -> dict[str, Any]:
        outcomes = [outcome_of(batch, body) for _, body in batch.entries]
        done = outcomes if batch.ended else outcomes[: len(outcomes) // 2]
        good = sum(outcome not in {"error", "expired", "cancelled"} for outcome in done)
        state = "SUCCEEDED" if batch.ended else "RUNNING"
        metadata: dict[str, Any] = {
            "displayName": batch.metadata.get("name", ""),
            "state": f"BATCH_STATE_{state}",
            "createTime": f"{batch.created_at:%Y-%m-%dT%H:%M:%S}.123456789Z",
            # Numbers of 64 bits are texts.
            "batchStats": {"requestCount": str(len(outcomes)), "successfulRequestCount": str(good)},
        }
        if len(done) > good:
            metadata["batchStats"]["failedRequestCount"] = str(len(done) - good)
        shown: dict[str, Any] = {"name": f"batches/{batch.id}", "metadata": metadata, "done": batch.ended}
        if batch.ended:
            metadata["endTime"] = f"{batch.created_at + timedelta(seconds=90):%Y-%m-%dT%H:%M:%S}.123456789Z"
            inlined = [self.line(key, body, outcome_of(batch, body)) for key, body in batch.entries[::-1]]
            shown["response"] = {"inlinedResponses": {"inlinedResponses": inlined}}
        return shown

    def line(self, key: str, body: dict[str, Any], outcome: str) -> dict[str, Any]:
        if outcome in {"error", "expired", "cancelled"}:
            code = {"error": 3, "expired": 4, "cancelled": 1}[outcome]
            return {"metadata": {"key": key}, "error": {"code": code, "message": f"not taken; key {self.account.key}"}}
        text = self.account.answer.format(prompt=prompt_of(body))
        candidate = {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": text}]}}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
        response = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1", "responseId": "r"}
        return {"metadata": {"key": key}, "response": response}


class _Mistral(OpenAI):
    def handle(self, method: str, path: str, query: dict[str, str], body: bytes, headers: Any) -> Any:
        account = self.account
        match method, path.removeprefix("/v1/").split("/"):
            case "POST", ["batch", "jobs"]:
                return self.show(self.create_job(json.loads(body), headers))
            case "GET", ["batch", "jobs"]:
                return self.jobs(query)
            case "GET", ["batch", "jobs", batch_id] if batch_id in account.batches:
                return self.polled(account.batches[batch_id])
        return super().handle(method, path, query, body, headers)

    def create_job(self, wanted: dict[str, Any], headers: Any) -> Batch:
        if headers.get("authorization") != f"Bearer {self.account.key}":
            raise StatusError(401, f"Unauthorized: {headers.get('authorization')}")
        if wanted["endpoint"] != "/v1/chat/completions" or wanted["model"] != "m-1":
            raise StatusError(400, "endpoint or model is wrong")
        [file_id] = wanted["input_files"]
        lines = [json.loads(line) for line in self.account.files[file_id].splitlines()]
        if any(set(line) != {"custom_id", "body"} or "model" in line["body"] for line in lines):
            raise StatusError(400, "a line holds what it must not")
        entries = [(line["custom_id"], {"model": wanted["model"], **line["body"]}) for line in lines]
        return self.account.add(entries, metadata=wanted.get("metadata") or {})

    def jobs(self, query: dict[str, str]) -> dict[str, Any]:
        batches, size = self.account.newest_first(), int(query["page_size"])
        start = int(query["page"]) * size
        shown = [self.show(batch) for batch in batches[start : start + size]]
        return {"object": "list", "data": shown, "total": len(batches)}

    def show(self, batch: Batch) -> dict[str, Any]:
        shown = super().show(batch)
        counts = shown.pop("request_counts")
        state = "SUCCESS" if batch.ended else "RUNNING"
        return shown | {
            "status": "CANCELLED" if batch.ended and batch.cancelled else state,
            "total_requests": counts["total"],
            "succeeded_requests": counts["completed"],
            "failed_requests": counts["failed"],
            "completed_at": shown["created_at"] + 90 if batch.ended else None,
            "output_file": shown.pop("output_file_id", None),
            "error_file": shown.pop("error_file_id", None),
        }


DIALECTS |= {"google": _Google, "mistral": _Mistral}
CREATE |= {"google": "/v1beta/models/m-1:batchGenerateContent", "mistral": "/v1/batch/jobs"}
