"""Parts that the service's routes share: reading of request bodies, JSON responses, and OpenAPI descriptions.

Plug-ins add routes by entry points of the group ``bigcodeflow.routes``, each a `Routes`; see docs/service.md.
"""

import asyncio
import json
from contextlib import ExitStack
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple, cast

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.responses import Response

from bigcodeflow.judge.remote.protocol import ApiModel
from bigcodeflow.judge.service.request_parsing import CLOSE, RequestRefusedError
from bigcodeflow.judge.service.service import Service

#: Longest time for the body of a request to arrive.
_BODY_SECONDS = 120.0


class Routes(NamedTuple):
    """Routes that one plug-in adds; each route requires the service's key."""

    router: APIRouter
    """Router with FastAPI routes only; a plug-in with other routes, or with an existing route, is left out."""
    bodies: tuple[type[BaseModel], ...] = ()
    """Models of the bodies that the routes read with `read_body`; model names must be unique in the service."""
    password: bool = False
    """True: accept the key also as an HTTP Basic password, for clients with only a URL: http://any:KEY@HOST."""


class Problem(ApiModel):
    """Reasons why a request was refused."""

    detail: list[str]
    """One line for each error: its place, the problem, and the remedy."""


def _service_of(request: Request) -> Service:
    return cast("Service", request.app.state.service)


OwnService = Annotated[Service, Depends(_service_of)]
_REASONS = {
    400: "The request has both Content-Length and Transfer-Encoding.",
    401: "The key is missing or wrong.",
    403: "The request names another host.",
    408: "The body did not arrive in time.",
    409: "The batch was meant for another version or environment.",
    413: "The request, or its batch, is too large.",
    415: "The body is not sent as JSON.",
    422: "The request cannot be understood, or asks for more than is allowed.",
    429: "No room now.",
    503: "The service is stopping.",
    504: "The service could not judge the program: nothing is known about the program.",
}
RESPONSES: dict[int, dict[str, Any]] = {
    status: {"model": Problem, "description": reason} for status, reason in _REASONS.items()
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}
for _status in (429, 503, 504):
    RESPONSES[_status]["headers"] = _RETRY_AFTER
RESPONSES[200] = {
    "description": "One line for each item as it ends, in any order. An item without a line was not executed: the "
    "connection broke or the service stopped: send the item again.",
    "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/Result"}}},
}


def body_options(model: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """Return FastAPI options that describe a route's body (``model``) and responses: common ones and ``statuses``."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {
        "openapi_extra": {"requestBody": {"required": True, "content": content}},
        "responses": {status: RESPONSES[status] for status in (408, 413, 415, 422, 429, *statuses)},
    }


async def read_body(request: Request, service: Service, held: ExitStack) -> bytes:
    """Return the body; refuse a body that is too large or slow. Its bytes count in ByteBudget until ``held`` closes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # browsers send this type to another site only after a CORS preflight
        raise RequestRefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/json")
    most_bytes, size_bytes = service.settings.max_body_mib << 20, 0
    chunks: list[bytes] = []
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                size_bytes += len(chunk)
                # The rest of a body that is too large is read and dropped: a client that is disconnected while it
                # sends would not see the reason.
                if size_bytes > 2 * most_bytes:
                    break
                if size_bytes > most_bytes:
                    chunks.clear()
                    continue
                service.budget.take(len(chunk))
                held.callback(service.budget.give, len(chunk))
                chunks.append(chunk)
    except TimeoutError:
        reason = f"the body did not arrive within {_BODY_SECONDS:.0f} s: send smaller batches"
        raise RequestRefusedError(HTTPStatus.REQUEST_TIMEOUT, reason, headers=CLOSE) from None
    if size_bytes > most_bytes:
        reason = f"the body is larger than {most_bytes >> 20} MiB: send several smaller requests"
        raise RequestRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason, headers=CLOSE)
    return b"".join(chunks)


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Make a JSON response in ASCII, because messages may quote a client's text, such as a lone surrogate."""
    return Response(json.dumps(content), status, headers, "application/json")
