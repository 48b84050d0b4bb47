"""Parts of the service's routes: reading a body within the budget, answers, and their description.

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
    """Routes that one plug-in adds; each asks for the service's key."""

    router: APIRouter
    """Routes of FastAPI alone; a service leaves out a plug-in with others, or with routes that it has already."""
    bodies: tuple[type[BaseModel], ...] = ()
    """Models of the bodies that routes read by `read_body`, with names that no other model of the service has."""
    password: bool = False
    """Take the key as the password of HTTP Basic too, for clients that know only a URL: http://any:KEY@HOST."""


class Problem(ApiModel):
    """Why a request was refused."""

    detail: list[str]
    """One line for each thing that is wrong: where, what, and what to do."""


def _service_of(request: Request) -> Service:
    return cast("Service", request.app.state.service)


OwnService = Annotated[Service, Depends(_service_of)]
_REASONS = {
    400: "The request states its length in two ways.",
    401: "The key is missing or wrong.",
    403: "The request names another host.",
    408: "The body did not arrive in time.",
    409: "The batch was meant for another version or environment.",
    413: "The request, or its batch, is too large.",
    415: "The body is not sent as JSON.",
    422: "The request cannot be understood, or asks for more than is allowed.",
    429: "No room now.",
    503: "The service is stopping.",
    504: "The service could not judge the program: nothing is known of it.",
}
RESPONSES: dict[int, dict[str, Any]] = {
    status: {"model": Problem, "description": reason} for status, reason in _REASONS.items()
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}
for _status in (429, 503, 504):
    RESPONSES[_status]["headers"] = _RETRY_AFTER
RESPONSES[200] = {
    "description": "One line for each item as it ends, in any order. An item without a line was not executed: the "
    "connection broke or the service stopped, and the item is to be sent again.",
    "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/Result"}}},
}


def body_options(model: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """Return the options of a route that takes a body: its model, and `statuses` in addition to the common ones."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {
        "openapi_extra": {"requestBody": {"required": True, "content": content}},
        "responses": {status: RESPONSES[status] for status in (408, 413, 415, 422, 429, *statuses)},
    }


async def read_body(request: Request, service: Service, held: ExitStack) -> bytes:
    """Read the whole body; refuse it if it is too large or slow. Its bytes are in the budget until ``held`` closes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # browsers send this type to another site only after a CORS preflight
        raise RequestRefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body has to be sent as application/json")
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
        reason = f"a request may have at most {most_bytes >> 20} MiB: send several"
        raise RequestRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason, headers=CLOSE)
    return b"".join(chunks)


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Make a JSON response in ASCII, because messages may quote a client's text, such as a lone surrogate."""
    return Response(json.dumps(content), status, headers, "application/json")
