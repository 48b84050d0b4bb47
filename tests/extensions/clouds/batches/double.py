"""A loopback account with both batch APIs: files and batches of OpenAI's, message batches of Anthropic's.

It checks what is handed in as the providers do, shows results in another order than asked, and fails as instructed.
"""

import asyncio
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from typing import Any

from tests.generation.providers.double import Fail, Outcome, Received, Send, Stream, model_server

KEY = "canary-0f9a2c"
#: Where batches of each dialect are submitted and listed.
CREATE = {"openai": "/v1/batches", "anthropic": "/v1/messages/batches"}
_PAGE_MOST = 100
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class StatusError(Exception):
    """What the account answers instead of a result."""

    def __init__(self, code: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.code = code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class DroppedError(ConnectionError):
    """The connection ends without an answer."""


@dataclass
class Batch:
    """One batch of either dialect."""

    id: str
    dialect: str
    entries: list[tuple[str, dict[str, Any]]]
    created_at: datetime
    polls_left: int
    metadata: dict[str, str] = field(default_factory=dict)
    rejection: dict[str, str] | None = None
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        return self.polls_left <= 0


@dataclass
class Account:
    """What the provider holds, and how it behaves. Outcomes are set by the prompt's text: the word in brackets."""

    dialect: str = "openai"
    polls: int = 2
    """Looks at a batch until it has ended."""
    before: Callable[[str, str], None] = lambda _method, _path: None
    """Called before a request is handled; raises StatusError or DroppedError, or waits."""
    after: Callable[[str, str], None] = lambda _method, _path: None
    """Called when it is handled and not yet answered."""
    reject: dict[str, str] | None = None
    """What the next batches are refused with as a whole."""
    truncate_results: list[float] = field(default_factory=list)
    """Share of the results that the next readings get; with a negative one the connection breaks off there."""
    pause_in_results: Callable[[], None] | None = None
    """Called once when half of the results are sent."""
    answer: str = "answer to {prompt}"
    key: str = KEY
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    log: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    address: str = ""

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1" if self.dialect == "openai" else self.address

    @property
    def prompts(self) -> Counter[str]:
        """How often each prompt was handed in."""
        return Counter(prompt_of(body) for batch in self.batches.values() for _, body in batch.entries)

    def calls(self, method: str, pattern: str) -> int:
        return sum(seen == method and re.fullmatch(pattern, path) is not None for seen, path in self.log)

    def add(self, entries: list[tuple[str, dict[str, Any]]], **details: Any) -> Batch:
        """A batch that is accepted; also what another user of the account does."""
        custom_ids = [custom_id for custom_id, _ in entries]
        if not entries or len(set(custom_ids)) < len(entries):
            raise StatusError(400, "custom ids must be there and differ")
        if not all(_CUSTOM_ID.fullmatch(custom_id) for custom_id in custom_ids):
            raise StatusError(400, "custom_id: String should match pattern")
        with self.lock:
            name = f"{'msgbatch' if self.dialect == 'anthropic' else 'batch'}_{len(self.batches) + 1}"
            created = datetime.now(UTC) - details.pop("age", timedelta())
            rejection, polls = self.reject, details.pop("polls", self.polls)
            batch = Batch(name, self.dialect, entries, created, polls, rejection=rejection, **details)
            self.batches[name] = batch
        return batch

    def answer_to(self, received: Received) -> Outcome:
        """Handle a request of a client; results are a stream, since their size is not known before."""
        method, path = received.method, received.path
        query = dict(pair.split("=", 1) for pair in received.query.split("&") if pair)
        self.log.append((method, path))
        try:
            self.before(method, path)
            with self.lock:
                content = DIALECTS[self.dialect](self).handle(method, path, query, received.raw, received.headers)
            self.after(method, path)
        except StatusError as status:
            error = {"type": _ERRORS.get(status.code, "api_error"), "message": str(status), "code": None}
            return Fail(status.code, body={"type": "error", "error": error}, headers=status.headers)
        return Stream(self._results(content)) if isinstance(content, list) else Send(content)

    def _results(self, lines: list[str]) -> Iterator[bytes]:
        share = self.truncate_results.pop(0) if self.truncate_results else 1.0
        for number, line in enumerate(lines[: int(len(lines) * abs(share))]):
            if self.pause_in_results and number == len(lines) // 2:
                pause, self.pause_in_results = self.pause_in_results, None
                pause()
            data = line.encode() + b"\n"
            yield data[:-9]
            yield data[-9:]
        if share < 0:
            raise DroppedError

    def newest_first(self) -> list[Batch]:
        with self.lock:
            return sorted(self.batches.values(), key=lambda batch: batch.created_at, reverse=True)


def prompt_of(body: dict[str, Any]) -> str:
    if "contents" in body:
        return body["contents"][-1]["parts"][0]["text"]
    return body["prompt"] if "prompt" in body else body["messages"][-1]["content"]


def outcome_of(batch: Batch, body: dict[str, Any]) -> str:
    found = re.search(r"\[(\w+)\]", prompt_of(body))
    wanted = found[1] if found else "ok"
    return "cancelled" if batch.cancelled and wanted == "slow" else "ok" if wanted == "slow" else wanted


class Dialect:
    """What both batch APIs have in common."""

    after: str
    polled_in_lists = 0

    def __init__(self, account: Account) -> None:
        self.account = account

    def polled(self, batch: Batch, polls: int = 1) -> dict[str, Any]:
        batch.polls_left -= polls
        return self.show(batch)

    def page(self, query: dict[str, str]) -> dict[str, Any]:
        batches = self.account.newest_first()
        if after := query.get(self.after):
            batches = batches[[batch.id for batch in batches].index(after) + 1 :]
        size = min(int(query.get("limit", 20)), _PAGE_MOST)
        shown = [self.polled(batch, self.polled_in_lists) for batch in batches[:size]]
        return {"object": "list", "data": shown, "has_more": len(batches) > size}


class OpenAI(Dialect):
    """Files and batches."""

    after = "after"

    def handle(self, method: str, path: str, query: dict[str, str], body: bytes, headers: Any) -> Any:
        account = self.account
        if headers.get("authorization") != f"Bearer {account.key}":
            raise StatusError(401, f"Incorrect API key provided: {headers.get('authorization')}")
        match method, path.removeprefix("/v1/").split("/"):
            case "POST", ["files"]:
                return self.upload(body, headers["content-type"])
            case "GET", ["files", file_id, "content"]:
                return [json.dumps(line, ensure_ascii=False) for line in self.lines(file_id)]
            case "POST", ["batches"]:
                return self.show(self.create(json.loads(body)))
            case "GET", ["batches"]:
                return self.page(query)
            case "GET", ["batches", batch_id] if batch_id in account.batches:
                return self.polled(account.batches[batch_id])
        raise StatusError(404, f"no such thing: {method} {path}")

    def upload(self, body: bytes, content_type: str) -> dict[str, Any]:
        form = message_from_bytes(b"content-type: " + content_type.encode() + b"\r\n\r\n" + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.get_payload()}
        if parts["purpose"].get_payload().strip() != "batch":
            raise StatusError(400, "purpose must be batch")
        with self.account.lock:
            file_id = f"file-{len(self.account.files) + 1}"
            self.account.files[file_id] = parts["file"].get_payload(decode=True)
        return {"id": file_id, "object": "file", "purpose": "batch", "status": "processed"}

    def create(self, wanted: dict[str, Any]) -> Batch:
        lines = [json.loads(line) for line in self.account.files[wanted["input_file_id"]].splitlines()]
        if wanted["completion_window"] != "24h" or any(line["url"] != wanted["endpoint"] for line in lines):
            raise StatusError(400, "window or endpoint is wrong")
        entries = [(line["custom_id"], line["body"]) for line in lines]
        return self.account.add(entries, metadata=wanted.get("metadata") or {})

    def show(self, batch: Batch) -> dict[str, Any]:
        created = int(batch.created_at.timestamp())
        outcomes = [outcome_of(batch, body) for _, body in batch.entries]
        state = "cancelling" if batch.cancelled else "in_progress"
        shown: dict[str, Any] = {"id": batch.id, "object": "batch", "created_at": created, "metadata": batch.metadata}
        if batch.rejection:
            return shown | {"status": "failed", "errors": {"object": "list", "data": [batch.rejection]}}
        done = len(outcomes) if batch.ended else len(outcomes) // 2
        good = sum(outcome not in {"error", "expired", "cancelled", "missing"} for outcome in outcomes[:done])
        shown["request_counts"] = {"total": len(outcomes), "completed": good, "failed": done - good}
        if not batch.ended:
            return shown | {"status": state}
        end = "cancelled" if batch.cancelled else "expired" if "expired" in outcomes else "completed"
        bad = set(outcomes) & {"error", "expired", "cancelled"}
        files = {"output_file_id": f"out-{batch.id}", "error_file_id": f"err-{batch.id}" if bad else None}
        return shown | files | {"status": end, f"{end}_at": created + 90}

    def lines(self, file_id: str) -> list[dict[str, Any]]:
        kind, _, batch_id = file_id.partition("-")
        batch = self.account.batches[batch_id]
        entries = [(custom_id, body, outcome_of(batch, body)) for custom_id, body in batch.entries]
        random.Random(batch_id).shuffle(entries)
        bad = {"error", "expired", "cancelled"}
        chosen = [entry for entry in entries if (entry[2] in bad) == (kind == "err") and entry[2] != "missing"]
        return [self.line(custom_id, body, outcome) for custom_id, body, outcome in chosen]

    def line(self, custom_id: str, body: dict[str, Any], outcome: str) -> dict[str, Any]:
        line: dict[str, Any] = {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": None, "error": None}
        if outcome in {"expired", "cancelled"}:
            return line | {"error": {"code": f"batch_{outcome}", "message": "This request could not be executed"}}
        status, content = 200, self.completion(body, 1 if outcome == "short" else body.get("n") or 1)
        if outcome == "error":
            words = f"The prompt is not taken; your key is {self.account.key}"
            status, content = 400, {"error": {"message": words, "type": "invalid_request_error", "code": None}}
        return line | {"response": {"status_code": status, "request_id": f"req_{custom_id}", "body": content}}

    def completion(self, body: dict[str, Any], answers: int) -> dict[str, Any]:
        text = self.account.answer.format(prompt=prompt_of(body))
        said = {"text": text} if "prompt" in body else {"message": {"role": "assistant", "content": text}}
        choices = [{"index": number, "finish_reason": "stop", **said} for number in range(answers)]
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        return {"id": "cmpl", "model": body["model"], "choices": choices, "usage": usage}


class _Anthropic(Dialect):
    """Message batches."""

    after, polled_in_lists = "after_id", 1

    def handle(self, method: str, path: str, query: dict[str, str], body: bytes, headers: Any) -> Any:
        account = self.account
        if account.key not in (given := f"{headers.get('x-api-key')} {headers.get('authorization')}"):
            raise StatusError(401, f"invalid x-api-key {given}")
        match method, path.removeprefix("/v1/messages/").split("/"):
            case "POST", ["batches"]:
                entries = [(entry["custom_id"], entry["params"]) for entry in json.loads(body)["requests"]]
                return self.show(account.add(entries))
            case "GET", ["batches"]:
                return self.page(query)
            case "GET", ["batches", batch_id] if batch_id in account.batches:
                return self.polled(account.batches[batch_id])
            case "GET", ["batches", batch_id, "results"] if batch_id in account.batches:
                return [json.dumps(line, ensure_ascii=False) for line in self.lines(account.batches[batch_id])]
        raise StatusError(404, f"no such thing: {method} {path}")

    def show(self, batch: Batch) -> dict[str, Any]:
        names = {"ok": "succeeded", "short": "succeeded", "error": "errored", "cancelled": "canceled"}
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        for _, body in batch.entries:
            outcome = outcome_of(batch, body)
            counts[names.get(outcome, outcome) if batch.ended else "processing"] += 1
        state = "ended" if batch.ended else "canceling" if batch.cancelled else "in_progress"
        results = f"{self.account.address}/v1/messages/batches/{batch.id}/results" if batch.ended else None
        ended_at = (batch.created_at + timedelta(seconds=90)).isoformat() if batch.ended else None
        shown = {"id": batch.id, "type": "message_batch", "processing_status": state, "request_counts": counts}
        times = {"created_at": batch.created_at.isoformat(), "ended_at": ended_at, "archived_at": None}
        return shown | times | {"results_url": results}

    def lines(self, batch: Batch) -> list[dict[str, Any]]:
        entries = list(batch.entries)
        random.Random(batch.id).shuffle(entries)
        return [{"custom_id": one, "result": self.result(body, outcome_of(batch, body))} for one, body in entries]

    def result(self, body: dict[str, Any], outcome: str) -> dict[str, Any]:
        if outcome == "error":
            error = {"type": "invalid_request_error", "message": f"not taken; your key is {self.account.key}"}
            return {"type": "errored", "error": {"type": "error", "error": error}}
        if outcome in {"expired", "cancelled"}:
            return {"type": "expired" if outcome == "expired" else "canceled"}
        content = [{"type": "text", "text": self.account.answer.format(prompt=prompt_of(body))}]
        usage = {"input_tokens": 5, "output_tokens": 7}
        message = {"id": "msg", "type": "message", "role": "assistant", "model": body["model"], "content": content}
        return {"type": "succeeded", "message": message | {"stop_reason": "end_turn", "usage": usage}}


#: `dialects` adds those of further providers.
DIALECTS: dict[str, type[Any]] = {"openai": OpenAI, "anthropic": _Anthropic}


@contextmanager
def account_server(account: Account) -> Iterator[Account]:
    """Serve an account on loopback; its hooks may wait, each in a thread of its own."""

    async def answer(received: Received) -> Outcome:
        return await asyncio.to_thread(account.answer_to, received)

    with model_server(answer) as server:
        account.address = f"http://127.0.0.1:{server.port}"
        yield account
