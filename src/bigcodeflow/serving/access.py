"""Who may ask, and how much at a time."""

import asyncio
import hashlib
import hmac
import ipaddress
from collections.abc import AsyncIterator
from http import HTTPStatus
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.security import HTTPAuthorizationCredentials
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.serving.request_parsing import RequestError

#: How long a request may take to arrive.
_BODY_SECONDS = 120.0
#: When a client may try again that found no room.
RETRY_SECONDS = 2


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def usable_key(key: str, host: str, variable: str) -> str:
    """The key that clients have to know; empty where none is needed.

    Args:
        key: what the environment holds.
        host: address that the service listens on.
        variable: where the key is taken from.

    Raises:
        ConfigError: others reach the address and there is no key, or a header cannot carry it.
    """
    if not key and not is_loopback(host):
        raise ConfigError(
            f"whoever reaches {host} could execute programs here: set {variable} to a key that clients have to know, "
            "or listen on 127.0.0.1"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{variable} holds blanks or characters beyond ASCII, which no header can carry")
    return key


def require_key(given: HTTPAuthorizationCredentials | None, key: str) -> None:
    """Refuse who does not know the key; how long that takes tells nothing of it.

    Raises:
        RequestError: it is another one or none.
    """
    sent = given.credentials.encode("utf-8", "surrogateescape") if given else b""
    mine, theirs = (hashlib.sha256(text).digest() for text in (key.encode(), sent))
    if not hmac.compare_digest(mine, theirs):
        why = "the key is not this service's" if given else "a key is missing"
        raise RequestError(
            HTTPStatus.UNAUTHORIZED,
            f"{why}: send it as `Authorization: Bearer KEY`",
            headers={"WWW-Authenticate": "Bearer"},
        )


def require_own_name(request: Request) -> None:
    """Refuse a request that a foreign page made a browser on this machine send; for services without a key.

    Raises:
        RequestError: it names another host than one of this machine.
    """
    if not is_own_name(request.headers.get("host", "")):
        raise RequestError(HTTPStatus.FORBIDDEN, "a service without a key answers to 127.0.0.1 and localhost only")


def is_own_name(host: str) -> bool:
    """Whether a Host header names this machine, as it does from nowhere else."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:  # brackets without an address in them
        return False


class OneLength:
    """Refuses a request that states its length twice, in two ways: a proxy before the service may believe the other.

    What it takes for the rest of the body would then be read here as a request of its own.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stands before everything of the app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        names = {name for name, _ in scope.get("headers", ())}
        if names >= {b"content-length", b"transfer-encoding"}:
            reason = "the request has both Content-Length and Transfer-Encoding: send one of them"
            refusal = JSONResponse({"detail": [reason]}, HTTPStatus.BAD_REQUEST, headers=_CLOSE)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


class ByteBudget:
    """Bytes of requests that are held at the same time."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, count: int) -> None:
        """Count bytes that arrived.

        Raises:
            RequestError: there are too many of them already.
        """
        if count > self._left:
            raise busy("the requests under way fill the memory that they may have: send this one again later")
        self._left -= count

    def give(self, count: int) -> None:
        """Count bytes that are no longer held."""
        self._left += count


class RequestBody:
    """A request's body, counted while it arrives and until it is given back."""

    def __init__(self, budget: ByteBudget, most_bytes: int) -> None:
        self._budget, self._most_bytes, self._taken = budget, most_bytes, 0

    async def read(self, request: Request) -> bytes:
        """The whole body.

        Raises:
            RequestError: it is no JSON by its own word, too large, or takes too long.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # a browser asks before it sends this to another site
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body has to be sent as application/json")
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                return await self._read(request.stream())
        except TimeoutError:
            reason = f"the body did not arrive within {_BODY_SECONDS:.0f} s: send smaller batches"
            raise RequestError(HTTPStatus.REQUEST_TIMEOUT, reason, headers=_CLOSE) from None

    def close(self) -> None:
        """Give it back."""
        self._budget.give(self._taken)
        self._taken = 0

    async def _read(self, arriving: AsyncIterator[bytes]) -> bytes:
        chunks: list[bytes] = []
        async for chunk in arriving:
            if self._taken + len(chunk) > self._most_bytes:
                chunks.clear()
                await _pass_over(arriving, self._most_bytes)
                reason = f"a request may have {self._most_bytes >> 20} MiB: send several"
                raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason, headers=_CLOSE)
            self._budget.take(len(chunk))
            self._taken += len(chunk)
            chunks.append(chunk)
        return b"".join(chunks)


async def _pass_over(arriving: AsyncIterator[bytes], most_bytes: int) -> None:
    """Let the rest of a body come and go: a client that is cut off while it sends would not hear why."""
    passed = 0
    async for chunk in arriving:
        passed += len(chunk)
        if passed > most_bytes:
            return


#: What is left of a body that is not read must not be taken for the next request.
_CLOSE = {"Connection": "close"}


def busy(line: str) -> RequestError:
    """The refusal of what will be welcome later."""
    return RequestError(HTTPStatus.TOO_MANY_REQUESTS, line, headers={"Retry-After": str(RETRY_SECONDS)})
