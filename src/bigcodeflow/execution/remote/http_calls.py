"""Calls of a service over HTTP, and what each answer means for who made it."""

import ipaddress
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx2

from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.remote import protocol

_CONNECT_SECONDS = 10.0
#: A service gives a sign of life every 5 s, once it has begun to answer.
_SILENCE_SECONDS = 60.0
#: A first plan measures imports.
_PREPARE_SECONDS = 1800.0
_ANSWER_BYTES = 256 << 20
_REASON_CHARACTERS = 500
#: The one item of each batch.
_ITEM = "item"

_AWAY = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)


#: Modules to preload, and those of the zygote.
Start = tuple[tuple[str, ...], tuple[str, ...]]


class CallError(ExecutionError):
    """A call without an answer that helps."""

    def __init__(self, message: str, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds
        """When the service wants to be asked again, if it said so."""


class BusyError(CallError):
    """The service has no room now."""


class AwayError(CallError):
    """Nobody answers at the address: the service is down, hangs, or is being started again."""


class LostError(CallError):
    """The answer broke off, or makes no sense."""


class RefusedError(CallError):
    """The service will not do this, however often it is asked."""


class StrangerError(RefusedError):
    """What answers is no service of bigcodeflow."""


class KeyRefusedError(RefusedError):
    """The key is wrong or missing."""


class LateError(CallError):
    """The time that the caller gave is over."""


class ServiceCalls:
    """A client of one service; used by several threads at once."""

    def __init__(self, url: str, key: str, *, connections: int) -> None:
        """Nothing is asked yet.

        Args:
            url: address of the service.
            key: what it asks for; empty sends none.
            connections: how many there may be at the same time.

        Raises:
            ConfigError: the address is none, or the key cannot be sent.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ConfigError(
                f"execution.service.url {url!r} is no address of a service: write one such as http://127.0.0.1:8017, "
                "and leave keys to the environment"
            )
        if not (key.isascii() and key.isprintable()):
            raise ConfigError("the service's key holds characters that no header can carry: copy it again")
        self.url = url.rstrip("/")
        self._lock = threading.Lock()
        self._under_way, self._closing = 0, False
        self._client = httpx2.Client(
            base_url=self.url,
            headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=httpx2.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            trust_env=not _is_loopback(parts.hostname),  # a proxy would be asked for a service on this machine
        )

    def info(self) -> dict[str, Any]:
        """What the service tells of itself.

        Raises:
            CallError: it does not.
        """
        return self._object("GET", "/v1/info", None, _SILENCE_SECONDS)

    def prepare(self, tests: Sequence[str], programs: Sequence[tuple[str, int]]) -> list[Start]:
        """The service's plan of how each program starts.

        Raises:
            CallError: there is none.
        """
        told = [{"program": program, "test": test} for program, test in programs]
        content = protocol.line({"tests": tests, "programs": told})
        planned = self._object("POST", "/v1/prepare", content, _PREPARE_SECONDS).get("starts")
        try:
            starts = [(tuple(map(str, one["preload"])), tuple(map(str, one["zygote"]))) for one in planned or ()]
        except (KeyError, TypeError):
            starts = []
        if len(starts) != len(programs):
            raise LostError("it plans something else than it was asked to")
        return starts

    def execute(self, batch: dict[str, Any], item: dict[str, Any], deadline: float) -> Outcome:
        """The outcome of one item.

        Args:
            batch: what is said of the batch beside its items.
            item: what is said of the item, without an id.
            deadline: of ``time.monotonic``, when nobody waits any more.

        Raises:
            CallError: there is none.
        """
        content = protocol.line(batch | {"items": [item | {"id": _ITEM}], "detail": "outcome"})
        patience_seconds = min(_SILENCE_SECONDS, max(0.1, deadline - time.monotonic()))
        found: Outcome | None = None
        try:
            with self._answer("POST", "/v1/batches", content, patience_seconds) as response:
                for line in self._lines(response, deadline):
                    found = _outcome_of(line)
        except LostError:
            if found is None:
                raise
        if found is None:
            raise LostError("the answer ended without the item")
        return found

    def close(self) -> None:
        """Ask nothing any more; calls under way end with the service's next word, and the last one leaves nothing."""
        with self._lock:
            self._closing = True
            self._close_when_idle()

    def _close_when_idle(self) -> None:
        if self._closing and not self._under_way:
            self._client.close()  # not before: whoever reads from a socket that is closed would wait for ever

    def _object(self, method: str, path: str, content: bytes | None, seconds: float) -> dict[str, Any]:
        with self._answer(method, path, content, seconds) as response:
            told = _json_of(_whole(response))
        if not isinstance(told, dict):
            raise LostError("it does not answer as a service of bigcodeflow does")
        return told

    @contextmanager
    def _answer(self, method: str, path: str, content: bytes | None, seconds: float) -> Iterator[httpx2.Response]:
        """A response whose status is good; ``seconds`` is how long the service may be silent."""
        timeout = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS, pool=None)
        headers = {"Content-Type": "application/json"} if content else {}
        with self._counted():
            try:
                with self._client.stream(method, path, content=content, headers=headers, timeout=timeout) as response:
                    _require_good(response)
                    yield response
            except (httpx2.ConnectError, httpx2.TimeoutException) as error:
                raise AwayError(f"it does not answer ({error or type(error).__name__})") from None
            except httpx2.HTTPError as error:
                raise LostError(f"the connection broke ({error or type(error).__name__})") from None

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            if self._closing:
                raise RefusedError("it is not asked any more, as the run ends")
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
                self._close_when_idle()

    def _lines(self, response: httpx2.Response, deadline: float) -> Iterator[bytes]:
        """Whole lines of the body, signs of life left out.

        Raises:
            LateError: the deadline passed.
            LostError: a line does not end.
            RefusedError: nobody wants the rest any more.
        """
        rest = b""
        for chunk in response.iter_raw():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from filter(None, whole)
            if len(rest) > _ANSWER_BYTES:
                raise LostError("its answer does not end")
            if time.monotonic() > deadline:
                raise LateError("it did not end the item in time")
            if self._closing:
                raise RefusedError("it is not asked any more, as the run ends")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _require_good(response: httpx2.Response) -> None:
    """Say what a status means.

    Raises:
        CallError: it is not 200.
    """
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    lines, after_seconds = _lines_of_refusal(response), _retry_after(response.headers.get("retry-after", ""))
    reason = f"it answers {status} {response.reason_phrase}".strip()
    reason = ": ".join(filter(None, (reason, "; ".join(lines))))[:_REASON_CHARACTERS]
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise BusyError(reason, after_seconds)
    if status in _AWAY:
        raise AwayError(reason, after_seconds)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        raise LostError(reason, after_seconds)
    if status == HTTPStatus.UNAUTHORIZED:
        raise KeyRefusedError(reason)
    raise RefusedError(reason) if lines and status != HTTPStatus.NOT_FOUND else StrangerError(reason)


def _lines_of_refusal(response: httpx2.Response) -> list[str]:
    """The service's own words; none where somebody else answers."""
    try:
        told = _json_of(_whole(response))
    except (LostError, httpx2.HTTPError):
        return []
    detail = told.get("detail") if isinstance(told, dict) else None
    return [str(line) for line in detail] if isinstance(detail, list) else []


def _retry_after(told: str) -> float | None:
    """Seconds of a Retry-After header, which holds them or a date; None where it holds neither."""
    if told.strip().isdecimal():
        return float(told)
    try:
        return max(0.0, (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a zone
        return None


def _whole(response: httpx2.Response) -> bytes:
    """The body.

    Raises:
        LostError: it does not end.
    """
    chunks, size_bytes = [], 0
    for chunk in response.iter_raw():
        chunks.append(chunk)
        size_bytes += len(chunk)
        if size_bytes > _ANSWER_BYTES:
            raise LostError("its answer does not end")
    return b"".join(chunks)


def _outcome_of(line: bytes) -> Outcome:
    told = _json_of(line)
    if not isinstance(told, dict) or told.get("id") != _ITEM:
        raise LostError("it answers something else than it was asked")
    try:
        return protocol.outcome_of(told.get("outcome"))
    except protocol.WireError as error:
        raise LostError(str(error)) from None


def _json_of(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise LostError(f"it answers {text[:80]!r}, which is no JSON") from None
