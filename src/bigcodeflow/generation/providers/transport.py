"""The way to a provider: a pool of connections, one deadline for a request, and its failures as `RequestError`."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from bigcodeflow.generation.model_api import ErrorKind, RequestError
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.faults import shown, status_error

#: Sent as the key to servers that need none: SDKs insist on one, and would else look for one in the environment.
NO_KEY = "none"

# ValueError is what decoders of JSON and models of an SDK raise.
_TRANSPORT: tuple[type[Exception], ...] = (httpx2.HTTPError, OSError, ValueError)
#: What SDKs let out when an answer is JSON of another form than they expect.
SHAPE_ERRORS = (AttributeError, LookupError, TypeError)
T = TypeVar("T")


def http_client(endpoint: Endpoint, address: str) -> httpx2.AsyncClient:
    """A client for the endpoint's server, or for the one at the address where the endpoint names none."""
    return httpx2.AsyncClient(**client_settings(endpoint, address))


def client_settings(endpoint: Endpoint, address: str) -> dict[str, Any]:
    """Settings of a client whose pool holds all requests under way; SDKs by themselves keep 20 to 100 connections."""
    size = endpoint.connections
    return {
        "limits": httpx2.Limits(max_connections=size, max_keepalive_connections=size, keepalive_expiry=30),
        "timeout": endpoint.timeout_seconds,
        "follow_redirects": True,
        "trust_env": not is_local(endpoint.base_url or address),
    }


def is_local(address: str) -> bool:
    """Whether an address is this machine's own, which no proxy of the environment can reach."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def called(endpoint: Endpoint, sending: Awaitable[T], *failures: type[Exception]) -> T:
    """What an SDK's call returns, within the endpoint's deadline.

    Args:
        endpoint: for the deadline, and for the key that no message may hold.
        sending: the call.
        failures: the SDK's own errors, beside those of its transport.

    Raises:
        RequestError: the call failed; without a cause, since those of SDKs hold the request's headers.
    """
    try:
        async with asyncio.timeout(endpoint.timeout_seconds):
            return await sending
    except TimeoutError:
        raise RequestError("deadline", f"no answer within {endpoint.timeout_seconds:g} s") from None
    except failures + _TRANSPORT as error:
        raise _request_error(error, endpoint) from None


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A body with further fields laid over it, objects field by field."""
    result = dict(body)
    for key, value in extra.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[key] = merged(before, value)
        else:
            result[key] = value
    return result


def _request_error(error: BaseException, endpoint: Endpoint) -> RequestError:
    """The error for a status, or for the innermost cause: SDKs wrap those of the transport."""
    response = getattr(error, "response", None) or getattr(error, "raw_response", None)
    if response is not None and not response.is_success:
        return status_error(response.status_code, response.headers, response.text, secret=endpoint.api_key)
    while error.__cause__ is not None:
        error = error.__cause__
    kind: ErrorKind
    if "Timeout" in type(error).__name__:
        kind = "deadline"
    elif isinstance(error, (ValueError, *SHAPE_ERRORS)) or response is not None:
        kind = "malformed"
    else:
        kind = "connection"
    return RequestError(kind, shown(f"{type(error).__name__}: {error}", endpoint.api_key))
