"""HTTP between bigcodeflow and a provider: a connection pool, a deadline per request, and a mapping of errors.

This module sends no request twice: `retries` decides what is sent again. Every failure becomes a `RequestError` whose
kind depends on the status, the provider's error code, or the exception of the HTTP client.
"""

import asyncio
import ipaddress
import json
import logging
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import httpx2

from bigcodeflow.core.errors import ConfigError, error_message
from bigcodeflow.generation.model_api import Answer, ErrorKind, Reply, Request, RequestError, TokenUsage
from bigcodeflow.generation.providers import Endpoint, Provider

logger = logging.getLogger(__name__)

#: Sent as the key to servers that need none: some refuse requests without a key, and Google's SDK would otherwise look
#: for a key in the environment.
NO_KEY = "none"

# JSON decoders and models of an SDK raise ValueError.
_TRANSPORT_ERRORS: tuple[type[Exception], ...] = (httpx2.HTTPError, OSError, ValueError)
#: Exceptions that are raised if the JSON of an answer has an unexpected form.
SHAPE_ERRORS = (AttributeError, LookupError, TypeError)
T = TypeVar("T")

#: Maximum time to connect, longer than any network needs; usually shorter than the deadline of the whole request.
_CONNECT_SECONDS = 15.0
#: Maximum number of characters that are kept of a provider's message.
MESSAGE_LENGTH = 400
_KINDS: Mapping[int, ErrorKind] = {
    **dict.fromkeys((401, 403), "authentication"),
    402: "quota",
    404: "not_found",
    408: "deadline",
    429: "rate_limited",
    **dict.fromkeys((409, 425), "overloaded"),
}
# There is no API at this address; file servers answer 501.
_NO_API = frozenset({405, 501})
# Messages about a text that is too long for the model; most providers report it as a bad request.
_TOO_LONG = re.compile(
    r"(?i)maximum context length|context[ _](length|window|size)|(prompt|input) is too long|exceed context limit|"
    r"(token count|number of tokens).* exceeds|longer than the maximum|max_new_tokens` must be <="
)
_WEB_PAGE = re.compile(r"(?i)\s*(<!doctype|<html|<head|<body|<\?xml)")
_TITLE = re.compile(r"(?is)<title[^>]*>(.{1,80}?)</title>")
# Values that providers write into code, type, status or reason; more precise than the HTTP status, mostly 400.
_CODES: Mapping[str, ErrorKind] = {
    **dict.fromkeys(("insufficient_quota", "billing_hard_limit_reached", "billing_error"), "quota"),
    **dict.fromkeys(("invalid_api_key", "api_key_invalid", "authentication_error"), "authentication"),
    **dict.fromkeys(("model_not_found", "model_not_supported", "invalid_model"), "not_found"),
    **dict.fromkeys(("content_policy_violation", "content_filter", "responsibleaipolicyviolation"), "refused"),
    **dict.fromkeys(("moderation_blocked", "invalid_prompt"), "refused"),
    **dict.fromkeys(("context_length_exceeded", "request_too_large"), "unanswerable"),
}
_PHRASES: tuple[tuple[re.Pattern[str], ErrorKind], ...] = (
    (re.compile(r"(?i)credit balance is too low"), "quota"),
    (re.compile(r"(?i)content (management |filtering )?policy|usage policy|flagged|safety system"), "refused"),
)


class HttpProvider(Provider):
    """Provider that sends and receives JSON through a connection pool; its repr contains no key."""

    address: ClassVar[str]
    """Default address, used if the endpoint has none."""
    request_id_header: ClassVar[str] = ""
    """Response header with the ID of the request; if empty, the ID in the reply is used."""

    def __init__(self, endpoint: Endpoint, headers: Mapping[str, str] | None = None) -> None:
        """Open the pool. Each request has ``headers``, which include the key; None sends the key as a bearer token."""
        self.endpoint = endpoint
        self._address = (endpoint.base_url or self.address).rstrip("/")
        bearer = {"authorization": f"Bearer {endpoint.api_key or NO_KEY}"}
        self._http = async_client(endpoint, self.address, headers or bearer)

    def path(self, request: Request) -> str:
        """Return the path of a request, to be appended to the server's address."""
        raise NotImplementedError

    def parsed(self, data: Mapping[str, Any]) -> tuple[tuple[Answer, ...], TokenUsage]:
        """Return the answers and token counts in the JSON object of a reply."""
        raise NotImplementedError

    async def ask(self, request: Request) -> Reply:
        response = await self.send("POST", self.path(request), self.body(request))
        request_id = response.headers.get(self.request_id_header)
        return self.reply(decoded(response.text, str(response.url)), request_id)

    def reply(self, data: Mapping[str, Any], request_id: str | None = None) -> Reply:
        """Convert a response's JSON object to a reply with the ID ``request_id`` (from a header) or the object's id."""
        try:
            answers, usage = self.parsed(data)
        except (AttributeError, KeyError, TypeError) as error:
            raise RequestError("malformed", f"the answer does not fit the provider's protocol: {error!r}") from None
        return Reply(answers, usage, served_model=data.get("model"), request_id=request_id or data.get("id"))

    async def send(self, method: str, path: str, body: Any = None, **options: Any) -> httpx2.Response:
        """Send a request once, with ``body`` as JSON and ``options`` for the HTTP client; return the whole response."""
        if body is not None:
            options |= {"content": compact_json(body), "headers": {"content-type": "application/json"}}
        address = self._address + path
        response = await called(self.endpoint, self._http.request(method, address, **options), address=address)
        if not response.is_success:
            raise _response_error(response, self.endpoint) from None
        return response

    async def json(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        response = await self.send(method, path, body, **options)
        return decoded(response.text, str(response.url))

    async def result_lines(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the results of a batch, one JSON object per line, without keeping all in memory.

        Lines end only at a line feed: texts may contain other line ends, at which the decoders of HTTP clients would
        split them. A line that is not a result is skipped, so the caller may get fewer results than requests.
        """
        request = self._http.build_request("GET", self._address + path)
        response = await called(self.endpoint, self._http.send(request, stream=True))
        try:
            if not response.is_success:
                await called(self.endpoint, response.aread())
                raise _response_error(response, self.endpoint) from None
            pieces, rest = response.aiter_bytes(), b""
            while piece := await called(self.endpoint, anext(pieces, b"")):
                *lines, rest = (rest + piece).split(b"\n")
                for result in filter(None, map(_batch_result, lines)):
                    yield result
            if (last := _batch_result(rest)) is not None:
                yield last
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()


@cache
def ssl_context(*, trust_env: bool = True) -> ssl.SSLContext:
    """Return a TLS context that all clients share, because loading the certificates takes 40 ms."""
    return httpx2.create_ssl_context(trust_env=trust_env)


def async_client(endpoint: Endpoint, address: str, headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
    """Return an HTTP client with a connection for each concurrent request; SDKs keep only 20 to 100 connections."""
    size = endpoint.connections
    host = urlsplit(endpoint.base_url or address).hostname or ""
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost" or host.endswith(".localhost")
    options: dict[str, Any] = {
        "headers": headers,
        "limits": httpx2.Limits(max_connections=size, max_keepalive_connections=size, keepalive_expiry=30),
        "timeout": httpx2.Timeout(endpoint.timeout_seconds, connect=min(_CONNECT_SECONDS, endpoint.timeout_seconds)),
        "follow_redirects": False,  # a redirect to another host would take the headers with the key along
        "verify": ssl_context(trust_env=not is_local),
        "trust_env": not is_local,  # no proxy of the environment can reach this machine's own addresses
    }
    try:
        return httpx2.AsyncClient(**options)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"ALL_PROXY or HTTPS_PROXY is unusable ({error_message(error)}): correct it") from None


async def called(endpoint: Endpoint, sending: Awaitable[T], *failures: type[Exception], address: str = "") -> T:
    """Await the call ``sending``, at most for the endpoint's timeout; connection errors name ``address``.

    Errors of the HTTP client, and an SDK's errors of the types ``failures``, become a `RequestError`. This error has no
    cause, because a cause would contain the request's headers.
    """
    try:
        async with asyncio.timeout(endpoint.timeout_seconds):
            return await sending
    except TimeoutError:
        raise RequestError("deadline", f"no answer within {endpoint.timeout_seconds:g} s") from None
    except failures + _TRANSPORT_ERRORS as error:
        raise _request_error(error, endpoint, address or endpoint.base_url) from None


def _request_error(error: BaseException, endpoint: Endpoint, address: str) -> RequestError:
    """Convert ``error`` to a RequestError by its HTTP status or, if it has none, by its innermost cause."""
    response = getattr(error, "response", None)
    if response is not None and not response.is_success:
        return _response_error(response, endpoint)
    if reason := next(filter(None, map(_unreached, _causes(error))), ""):
        return RequestError("connection", shown(f"{address or 'the provider'} {reason}", endpoint.api_key))
    while error.__cause__ is not None:
        error = error.__cause__
    kind: ErrorKind = "connection"
    if "Timeout" in type(error).__name__:
        kind = "deadline"
    elif isinstance(error, (ValueError, *SHAPE_ERRORS)) or response is not None:
        kind = "malformed"
    where = f"{address}: " if kind == "connection" and address else ""
    message = shown(f"{where}{type(error).__name__}: {error}", endpoint.api_key)
    return RequestError(kind, message, reached=False if isinstance(error, json.JSONDecodeError) else None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all its causes, including the errors of several connection attempts in a group."""
    found: BaseException | None = error
    while found is not None:
        yield found
        if isinstance(found, BaseExceptionGroup):
            for one in found.exceptions:
                yield from _causes(one)
        found = found.__cause__ or found.__context__


def _unreached(error: BaseException) -> str:
    """Return a message that says why there is no connection, and how to fix it; empty for other errors."""
    if isinstance(error, ConnectionRefusedError):
        return "refuses connections: start the server there, or correct generation.base_url"
    if isinstance(error, socket.gaierror):
        return "has no address: correct the host in generation.base_url, or check this machine's network"
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLWantReadError):
        reason = getattr(error, "verify_message", "") or error.reason or "not understood"
        return f"gives no TLS connection ({reason}): correct http or https in generation.base_url, or the certificate"
    if type(error).__name__ == "ConnectTimeout":
        return "accepts no connection in time: correct generation.base_url, or check the firewall and the proxy"
    return ""


def _response_error(response: Any, endpoint: Endpoint) -> RequestError:
    address = str(getattr(response, "url", ""))
    return status_error(response.status_code, response.headers, response.text, secret=endpoint.api_key, address=address)


def compact_json(data: Any) -> bytes:
    """Encode data as compact JSON; ASCII only, so that an incomplete surrogate pair can be sent as well."""
    return json.dumps(data, separators=(",", ":")).encode()


def decoded(text: str, address: str = "") -> dict[str, Any]:
    """Return an answer's JSON object, or raise RequestError, which names the address if the answer is a web page."""
    try:
        data = json.loads(text)
    except ValueError:
        message = _web_page(text, address) or f"the answer is not JSON: {text[:80]!r}"
        raise RequestError("malformed", message, reached=False) from None
    if not isinstance(data, dict):
        raise RequestError("malformed", f"the answer is a JSON {type(data).__name__}, not an object")
    return data


def _web_page(text: str, address: str) -> str:
    """Return an error message if an answer is a web page, else an empty text."""
    if not _WEB_PAGE.match(text):
        return ""
    title = _TITLE.search(text)
    named = f" ({' '.join(title[1].split())})" if title else ""
    return f"{address or 'the address'} answers with a web page{named}, not as an API: correct generation.base_url"


def _batch_result(line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return None
    with suppress(ValueError):
        data = json.loads(line)
        if isinstance(data, dict) and isinstance(data.get("custom_id"), str):
            return data
    logger.warning("a line of %d bytes in the results of a batch is not a result: it is skipped", len(line))
    return None


def status_error(
    status: int, headers: Mapping[str, str], body: str, *, secret: str = "", address: str = ""
) -> RequestError:
    """Convert a provider's error response to a `RequestError`.

    Headers have lower-case names. ``secret`` is a key that is removed from the message, even if the server sends it
    back. The message names the address if the answer is a web page or a redirect.
    """
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST and (location := headers.get("location")):
        place = shown(f"{address or 'the address'} redirects to {location}", secret)
        message = f"{status}: {place}: set generation.base_url to the API's address"
        return RequestError("not_found", message, reached=False)
    page = _web_page(body, address)
    parts: list[Mapping[str, Any]] = []
    with suppress(ValueError):
        parts = _error_parts(json.loads(body))
    words = [part[key] for part in parts for key in ("message", "error", "detail") if part.get(key)]
    text = (words[0] if isinstance(words[0], str) else json.dumps(words[0])) if words else page or body or "no message"
    wait_seconds = retry_after_seconds(headers)
    if wait_seconds is None:  # Google states the wait in the body only, such as "retryDelay": "13s"
        delays = [part["retryDelay"] for part in parts if isinstance(part.get("retryDelay"), str)]
        wait_seconds = _number(delays[0].removesuffix("s")) if delays else None
    message = shown(f"{status}: {text}", secret)
    return RequestError(_kind(status, parts, body), message, retry_after_seconds=wait_seconds, reached=not page)


def shown(message: str, secret: str) -> str:
    if secret:
        message = message.replace(secret, "[key]")
    message = " ".join(message.split())
    return message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 1] + "…"


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from ``retry-after-ms`` or ``Retry-After`` (RFC 9110, 10.2.3); None without either."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d{0,9})?\s*", text, re.ASCII) else None


def _kind(status: int, parts: Sequence[Mapping[str, Any]], body: str) -> ErrorKind:
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return "malformed"
    if status < HTTPStatus.BAD_REQUEST or status in _NO_API:
        return "not_found"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "overloaded"
    for code in (part.get(key) for part in parts for key in ("code", "type", "status", "reason")):
        if isinstance(code, str) and code.lower() in _CODES:
            return _CODES[code.lower()]
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        # Google answers 429 with the same message for the limits per minute and per day.
        return "quota" if any("PerDay" in str(part.get("violations")) for part in parts) else "rate_limited"
    kind = next((kind for phrase, kind in _PHRASES if phrase.search(body)), _KINDS.get(status, "bad_request"))
    too_long = kind == "bad_request" and _TOO_LONG.search(body)
    return "unanswerable" if too_long else kind


def _error_parts(content: Any) -> list[Mapping[str, Any]]:
    """Return the error object in ``content`` and the objects in its details; empty if ``content`` has no object."""
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    if not isinstance(content, dict):
        return []
    error = content.get("error")
    error = error if isinstance(error, dict) else content
    details = [error.get(key) for key in ("details", "innererror")]
    flat = [detail for given in details for detail in (given if isinstance(given, list) else [given])]
    return [error, *(detail for detail in flat if isinstance(detail, dict))]


def ensure_ok(data: Any, *, secret: str = "") -> None:
    """Raise RequestError if an answer with status 200 contains an error, as answers of some gateways do."""
    error = data.get("error") if isinstance(data, dict) else None
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and code > HTTPStatus.OK else 500
        if isinstance(code, str) and code.lower() in _CODES:
            status = HTTPStatus.BAD_REQUEST
        raise status_error(status, {}, json.dumps(data), secret=secret)
