"""A model server on loopback that speaks every provider's dialect, fails as completion, and remembers what it was sent.

    with model_server(script) as server:
        Endpoint(model="m", base_url=server.url("anthropic"), api_key="k")

A script is asked for each request and says what comes back: `Completion` for an answer, `Fail` for an HTTP status, `Break` for
a broken connection or an answer that is none, `Send` and `Stream` for a body of its own. It runs in a thread of its own, so that the
tests' loop is the client's alone.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

import psutil

DIALECTS = ("openai", "openai-responses", "azure", "anthropic", "google", "mistral", "ollama", "huggingface")
_SUFFIX = {"openai": "/v1", "openai-responses": "/v1", "huggingface": "/v1"}
_HANG_SECONDS = 60
#: The longest wait of a test for what comes; reached only where something is wrong.
LIMIT_SECONDS = 120.0

Finish = Literal["stop", "length", "refusal"]


@dataclass(frozen=True)
class Received:
    """One request as it came over the wire."""

    number: int
    method: str
    dialect: str
    path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None

    @property
    def samples(self) -> int:
        body = self.body or {}
        return body.get("n") or body.get("generationConfig", {}).get("candidateCount") or 1


@dataclass(frozen=True)
class Completion:
    """An answer; its text is numbered where none is given."""

    text: str = ""
    finish: Finish = "stop"
    reasoning: str = ""
    prompt_tokens: int = 11
    completion_tokens: int = 7
    """Reasoning included, as in `TokenUsage`."""
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    latency_seconds: float = 0.0
    together: int = 1
    """Held back until so many requests have been in flight at once."""
    until: threading.Event | None = None
    """Held back until this is set."""


@dataclass(frozen=True)
class Fail:
    """An HTTP status with a body in the dialect's form of an error, or one of its own."""

    status: int
    message: str = "as the script says"
    code: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Send:
    """Status 200 with this body, a JSON value or bytes."""

    body: Any


@dataclass(frozen=True)
class Break:
    """'before' hangs up without a byte, 'head' within the headers, 'body' within the body; 'hang' never answers and
    'trickle' sends a byte at a time; 'garbage' is no JSON, 'empty' has no choices."""

    how: Literal["before", "head", "body", "hang", "trickle", "garbage", "empty"]


@dataclass(frozen=True)
class Stream:
    """Status 200 with pieces that come one by one, and may keep a thread waiting; a ConnectionError breaks them off."""

    pieces: Iterator[bytes]


Outcome = Completion | Fail | Send | Break | Stream
Script = Callable[[Received], Outcome | Awaitable[Outcome]]


class ModelServer:
    """What tests hold of a running double."""

    def __init__(self, script: Script | Sequence[Outcome], key: str) -> None:
        self.requests: list[Received] = []
        self.open_connections = 0
        self.connections = 0
        """Connections that were ever opened."""
        self.most_in_flight = 0
        self.port = 0
        self._script = script
        self._key = key
        self._in_flight = 0

    def url(self, dialect: str) -> str:
        """Base address for a provider's adapter."""
        return f"http://127.0.0.1:{self.port}/{dialect}{_SUFFIX.get(dialect, '')}"

    @property
    def last(self) -> Received:
        return self.requests[-1]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        received = Received(len(self.requests), method, path.split("/")[1], path, query, headers, raw)
        self.requests.append(received)
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            return await self._answer(received, writer)
        finally:
            self._in_flight -= 1

    async def _held(self, outcome: Completion) -> None:
        await asyncio.sleep(outcome.latency_seconds)
        until = outcome.until
        while self.most_in_flight < outcome.together or (until and not until.is_set()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def _answer(self, received: Received, writer: asyncio.StreamWriter) -> bool:
        script = self._script
        outcome = script(received) if callable(script) else script[min(received.number, len(script) - 1)]
        if isinstance(outcome, Awaitable):
            outcome = await outcome
        if self._key and self._key not in json.dumps(dict(received.headers)):
            outcome = Fail(401, "wrong key", "invalid_api_key")
        if isinstance(outcome, Break) and outcome.how in {"before", "head", "body", "hang", "trickle"}:
            return await _broken(outcome.how, writer)
        if isinstance(outcome, Stream):
            writer.write(b"HTTP/1.1 200 X\r\ncontent-type: application/x-jsonl\r\ntransfer-encoding: chunked\r\n\r\n")
            while piece := await asyncio.to_thread(next, outcome.pieces, b""):
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            return True
        if isinstance(outcome, Completion):
            await self._held(outcome)
        status, body, headers = _content(received, outcome)
        writer.write(_head(status, len(body), headers) + body)
        await writer.drain()
        return True


@contextlib.contextmanager
def model_server(
    script: Script | Sequence[Outcome] = (Completion(),), *, key: str = "", port: int = 0
) -> Iterator[ModelServer]:
    """A running server, at a free port where none is named.

    A sequence is one outcome for each request, the last one for all further. Some header of each request must hold the
    key, where there is one; else it is answered 401.
    """
    server = ModelServer(script, key)
    started: Future[Callable[[], None]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(server, port, started)), daemon=True)
    thread.start()
    stop = started.result()
    try:
        yield server
    finally:
        stop()
        thread.join()


def wait_for(condition: Callable[[], bool], timeout_seconds: float = LIMIT_SECONDS) -> bool:
    """Wait for a condition of the server's thread; False: it did not come true."""
    end = time.monotonic() + timeout_seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def gone(*pids: int) -> bool:
    """Wait until no process with these ids runs."""

    def runs(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return wait_for(lambda: not any(map(runs, pids)))


async def _serve(server: ModelServer, port: int, started: Future[Callable[[], None]]) -> None:
    try:
        listening = await asyncio.start_server(server.connected, "127.0.0.1", port, backlog=512)
    except OSError as error:
        started.set_exception(error)
        return
    server.port = listening.sockets[0].getsockname()[1]
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    started.set_result(lambda: loop.call_soon_threadsafe(stopped.set) and None)
    await stopped.wait()
    listening.close()


async def _broken(how: str, writer: asyncio.StreamWriter) -> bool:
    if how in {"hang", "trickle"}:
        writer.write(b"" if how == "hang" else _head(200, 1_000_000, {}))
        for _ in range(_HANG_SECONDS * 20):
            writer.write(b"" if how == "hang" else b" ")
            await writer.drain()
            await asyncio.sleep(0.05)
    if how == "head":
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: appl")
    if how == "body":
        writer.write(_head(200, 1000, {}) + b'{"choices": [{"message": {"content": "half an ans')
    await writer.drain()
    return False


def _head(status: int, length: int, headers: Mapping[str, str]) -> bytes:
    lines = {"content-type": "application/json", "content-length": str(length), **headers}
    return (f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n").encode()


def _content(received: Received, outcome: Outcome) -> tuple[int, bytes, Mapping[str, str]]:
    status, headers = 200, {}
    if isinstance(outcome, Fail):
        status, headers = outcome.status, outcome.headers
        body = _error(received.dialect, outcome) if outcome.body is None else outcome.body
    elif isinstance(outcome, Send):
        body = outcome.body
    elif isinstance(outcome, Break):
        body = b"<html>busy</html>" if outcome.how == "garbage" else {}
    else:
        headers = {"x-request-id": f"req-{received.number}", "request-id": f"req-{received.number}"}
        body = SPEAKERS[received.dialect](received, outcome)
    return status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers


def _error(dialect: str, fail: Fail) -> dict[str, Any]:
    if dialect == "ollama":
        return {"error": fail.message}
    if dialect == "google":
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": fail.code}] if fail.code else []
        return {"error": {"code": fail.status, "message": fail.message, "status": "X", "details": details}}
    if dialect == "mistral":
        return {"object": "error", "message": fail.message, "type": fail.code or "x", "code": "3000"}
    error = {"message": fail.message, "type": fail.code or "x", "code": fail.code or None}
    return {"type": "error", "error": error} if dialect == "anthropic" else {"error": error}


def _texts(received: Received, completion: Completion) -> list[str]:
    return [completion.text or f"answer {received.number}.{index}" for index in range(received.samples)]


def _openai(received: Received, completion: Completion) -> dict[str, Any]:
    finish = {"refusal": "content_filter"}.get(completion.finish, completion.finish)
    plain = received.path.endswith("/v1/completions")
    choices = [
        {"index": index, "finish_reason": finish, **({"text": text} if plain else _message(text, completion))}
        for index, text in enumerate(_texts(received, completion))
    ]
    usage = {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "total_tokens": completion.prompt_tokens + completion.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": completion.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": completion.reasoning_tokens},
    }
    # Backwards, since the order of the choices is not promised.
    return {"id": "cmpl-1", "created": 1, "model": _served(received), "choices": choices[::-1], "usage": usage}


def _message(text: str, completion: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"message": message | ({"reasoning_content": completion.reasoning} if completion.reasoning else {})}


def _mistral(received: Received, completion: Completion) -> dict[str, Any]:
    reply = _openai(received, completion) | {"object": "chat.completion"}
    for choice in reply["choices"]:
        text = choice["message"].pop("content")
        choice["message"].pop("reasoning_content", None)
        prefix = received.body["messages"][-1]
        text = prefix["content"] + text if prefix.get("prefix") else text
        thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": completion.reasoning}]}
        choice["message"]["content"] = [thoughts, {"type": "text", "text": text}] if completion.reasoning else text
    return reply


def _anthropic(received: Received, completion: Completion) -> dict[str, Any]:
    finish = {"stop": "end_turn", "length": "max_tokens"}.get(completion.finish, completion.finish)
    thoughts = [{"type": "thinking", "thinking": completion.reasoning, "signature": "s"}]
    text = _texts(received, completion)[0]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": _served(received),
        # Two blocks, since a text may come in several.
        "content": [
            *thoughts[: bool(completion.reasoning)],
            {"type": "text", "text": text[:3]},
            {"type": "text", "text": text[3:]},
        ],
        "stop_reason": finish,
        "usage": {
            "input_tokens": completion.prompt_tokens - completion.cached_tokens,
            "cache_read_input_tokens": completion.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens": completion.completion_tokens,
            "output_tokens_details": {"thinking_tokens": completion.reasoning_tokens},
        },
    }


def _google(received: Received, completion: Completion) -> dict[str, Any]:
    finish = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[completion.finish]
    thoughts = [{"text": completion.reasoning, "thought": True}] if completion.reasoning else []
    candidates = [
        {"index": index, "finishReason": finish, "content": {"role": "model", "parts": [*thoughts, {"text": text}]}}
        for index, text in enumerate(_texts(received, completion))
    ]
    usage = {
        "promptTokenCount": completion.prompt_tokens,
        "candidatesTokenCount": completion.completion_tokens - completion.reasoning_tokens,
        "thoughtsTokenCount": completion.reasoning_tokens,
        "cachedContentTokenCount": completion.cached_tokens,
        "totalTokenCount": completion.prompt_tokens + completion.completion_tokens,
    }
    served = _served(received)
    return {"candidates": candidates[::-1], "usageMetadata": usage, "modelVersion": served, "responseId": "resp-1"}


def _ollama(received: Received, completion: Completion) -> dict[str, Any]:
    text = _texts(received, completion)[0]
    reply = {"model": _served(received), "done": True, "done_reason": completion.finish}
    reply |= {"prompt_eval_count": completion.prompt_tokens, "eval_count": completion.completion_tokens}
    if received.path.endswith("/api/generate"):
        return reply | {"response": text, "thinking": completion.reasoning or None}
    return reply | {"message": {"role": "assistant", "content": text, "thinking": completion.reasoning or None}}


def _served(received: Received) -> str:
    google = received.dialect == "google"
    return f"{received.path.rpartition('/')[2].partition(':')[0] if google else received.body['model']}-0613"


def _responses(received: Received, completion: Completion) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": _texts(received, completion)[0], "annotations": []}]
    if completion.finish == "refusal":
        parts = [{"type": "refusal", "refusal": parts[0]["text"]}]
    thoughts = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": completion.reasoning}]}
    ]
    return {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if completion.finish == "length" else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if completion.finish == "length" else None,
        "model": _served(received),
        "output": [
            *thoughts[: bool(completion.reasoning)],
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts},
        ],
        "usage": {
            "input_tokens": completion.prompt_tokens,
            "input_tokens_details": {"cached_tokens": completion.cached_tokens},
            "output_tokens": completion.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": completion.reasoning_tokens},
            "total_tokens": completion.prompt_tokens + completion.completion_tokens,
        },
    }


#: By dialect; `clouds` adds those of further providers.
SPEAKERS: dict[str, Callable[[Received, Completion], dict[str, Any]]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "azure": _openai,
    "anthropic": _anthropic,
    "google": _google,
    "mistral": _mistral,
    "ollama": _ollama,
    "huggingface": _openai,
}
