"""HTTP routes of a service: responses, access control, the size limit of requests; and the process that serves them."""

import asyncio
import hashlib
import hmac
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, closing
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, Literal, cast

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPAuthorizationCredentials, HTTPBasic, HTTPBasicCredentials, HTTPBearer
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import bigcodeflow
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.listening import BACKLOG, is_loopback, is_own_name, listening, quiet_signals, shown_host
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.integrity.contradictions import Contradictions
from bigcodeflow.judge.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.judge.remote.protocol import ApiModel, BatchRequest, Info, Prepared, PrepareRequest, Result
from bigcodeflow.judge.service import sandbox_fusion
from bigcodeflow.judge.service.request_parsing import RequestRefusedError, ServingSettings, parse_batch
from bigcodeflow.judge.service.service import Service

#: A client that reads nothing for this time is treated as disconnected.
_STALLED_SECONDS = 60.0
#: Longest time for the body of a request to arrive.
_BODY_SECONDS = 120.0
#: Close the connection: the unread rest of a body must not be parsed as the next request.
_CLOSE = {"Connection": "close"}


class Health(ApiModel):
    """State of the service: does it accept work?"""

    status: Literal["ok", "stopping"]


class Problem(ApiModel):
    """Why a request was refused."""

    detail: list[str]
    """One line for each thing that is wrong: where, what, and what to do."""


class LineStream(StreamingResponse):
    """Response that sends lines when they arrive; ``on_end`` is always called at the end, whatever the reason."""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncIterator[bytes], on_end: Callable[[], object]) -> None:
        super().__init__(lines, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_STALLED_SECONDS):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        finally:
            self._on_end()


def _service_of(request: Request) -> Service:
    return cast("Service", request.app.state.service)


_Own = Annotated[Service, Depends(_service_of)]
_bearer = HTTPBearer(auto_error=False, description="The service's key.")
_Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
_basic = HTTPBasic(auto_error=False, description="The service's key as the password, whatever the user's name.")


async def _require_key(given: _Bearer, service: _Own) -> None:
    """Refuse a request without the right key in the Authorization header (Bearer)."""
    _compare_keys(given.credentials if given else None, service)


async def _require_key_or_password(
    given: _Bearer, password: Annotated[HTTPBasicCredentials | None, Depends(_basic)], service: _Own
) -> None:
    """Refuse a request without the right key, as Bearer or as the password of a URL such as http://key:KEY@HOST."""
    _compare_keys(given.credentials if given else password.password if password else None, service)


def _compare_keys(given: str | None, service: Service) -> None:
    """Compare a key with the service's in constant time; refuse the request if they differ."""
    sent = (given or "").encode("utf-8", "surrogateescape")
    mine, theirs = (hashlib.sha256(text).digest() for text in (service.settings.key.encode(), sent))
    if not hmac.compare_digest(mine, theirs):
        reason = "a key is missing" if given is None else "the key is not this service's"
        raise RequestRefusedError(
            HTTPStatus.UNAUTHORIZED,
            f"{reason}: send it as `Authorization: Bearer KEY`",
            headers={"WWW-Authenticate": "Bearer"},
        )


async def _require_own_name(request: Request) -> None:
    """Refuse requests for another host name: without a key, other sites' pages could send them through a browser."""
    if not is_own_name(request.headers.get("host", "")):
        raise RequestRefusedError(
            HTTPStatus.FORBIDDEN, "a service without a key answers only requests to 127.0.0.1 or localhost"
        )


class OneLength:
    """Middleware that refuses requests with both Content-Length and Transfer-Encoding.

    A proxy may use the other header; the rest of the body would then be read here as a separate (smuggled) request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if {name for name, _ in scope.get("headers", ())} >= {b"content-length", b"transfer-encoding"}:
            reason = "the request has both Content-Length and Transfer-Encoding: send one of them"
            app = JSONResponse({"detail": [reason]}, HTTPStatus.BAD_REQUEST, headers=_CLOSE)
        await app(scope, receive, send)


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
_RESPONSES: dict[int, dict[str, Any]] = {
    status: {"model": Problem, "description": reason} for status, reason in _REASONS.items()
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}
for _status in (429, 503, 504):
    _RESPONSES[_status]["headers"] = _RETRY_AFTER
_RESPONSES[200] = {
    "description": "One line for each item as it ends, in any order. An item without a line was not executed: the "
    "connection broke or the service stopped, and the item is to be sent again.",
    "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/Result"}}},
}


def _with_body(model: str, *statuses: int) -> dict[str, Any]:
    """Return the options of a route that takes a body: its model, and `statuses` in addition to the common ones."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model}"}}}
    return {
        "openapi_extra": {"requestBody": {"required": True, "content": content}},
        "responses": {status: _RESPONSES[status] for status in (408, 413, 415, 422, 429, *statuses)},
    }


_READ_BY_HAND = (BatchRequest, PrepareRequest, Result, sandbox_fusion.RunCodeRequest, sandbox_fusion.SubmitRequest)

_open_router = APIRouter()
_router = APIRouter()
_fusion_router = APIRouter(tags=["SandboxFusion"])


@_open_router.get("/health", responses={503: {"model": Health, "description": "The service is stopping."}})
async def health(service: _Own) -> Response:
    """Tell if the service takes work; asks for no key."""
    stopping = service.jobs.stopping
    return _json({"status": "stopping" if stopping else "ok"}, HTTPStatus.SERVICE_UNAVAILABLE if stopping else 200)


@_router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Return the OpenAPI description; asks for the key, as all routes except /health do."""
    return _json(cast("FastAPI", request.app).openapi())


@_router.get("/v1/info", response_model=Info)
async def info(service: _Own) -> Response:
    """Return version, environment, isolation and bounds."""
    return _json(service.info())


@_router.post("/v1/prepare", response_model=Prepared, **_with_body("PrepareRequest"))
async def prepare(request: Request, service: _Own) -> Response:
    """Plan the warm starts of programs; send all together, so that libraries that many import are kept imported."""
    with ExitStack() as held:
        body = await _read(request, service, held)
        return _json(await service.starts(body))


@_router.post("/v1/batches", response_class=Response, **_with_body("BatchRequest", 200, 409, 503))
async def batches(request: Request, service: _Own) -> Response:
    """Execute items; an item that equals one that runs, or ended in the last minutes, shares its execution."""
    with ExitStack() as held:
        batch = await service.read(await _read(request, service, held), parse_batch)
        reserved = held.enter_context(service.jobs.reserved(len(batch.items), batch.mode))
        return LineStream(service.lines(reserved, batch), held.pop_all().close)


@_fusion_router.post(
    "/run_code", response_model=sandbox_fusion.RunCodeResponse, **_with_body("RunCodeRequest", 503, 504)
)
async def run_code(request: Request, service: _Own) -> Response:
    """Run a Python script for what it prints."""
    with ExitStack() as held:
        batch = await service.read(await _read(request, service, held), sandbox_fusion.parse_run)
        return _json(sandbox_fusion.response_to_run(await service.verdict_of(batch, request.is_disconnected)))


@_fusion_router.post("/submit", response_model=sandbox_fusion.EvalResult, **_with_body("SubmitRequest", 503, 504))
async def submit(request: Request, service: _Own) -> Response:
    """Judge a model's answer by the test of the task that comes with it."""
    with ExitStack() as held:
        submission = await service.read(await _read(request, service, held), sandbox_fusion.parse_submission)
        return _json(submission.response(await service.verdict_of(submission.batch, request.is_disconnected)))


async def _read(request: Request, service: Service, held: ExitStack) -> bytes:
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
        raise RequestRefusedError(HTTPStatus.REQUEST_TIMEOUT, reason, headers=_CLOSE) from None
    if size_bytes > most_bytes:
        reason = f"a request may have at most {most_bytes >> 20} MiB: send several"
        raise RequestRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason, headers=_CLOSE)
    return b"".join(chunks)


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Make a JSON response in ASCII, because messages may quote a client's text, such as a lone surrogate."""
    return Response(json.dumps(content), status, headers, "application/json")


async def _answer_error(_request: Request, error: Exception) -> Response:
    if isinstance(error, RequestRefusedError):
        return _json({"detail": list(error.lines)}, error.status, error.headers)
    if isinstance(error, HTTPException):
        return _json({"detail": [str(error.detail)]}, error.status_code, dict(error.headers or {}))
    return Response(status_code=HTTPStatus.BAD_REQUEST)  # the client disconnected and does not read it


def make_app(service: Service) -> FastAPI:
    """Make the FastAPI application of a service; its OpenAPI description names all its responses."""
    description = "Executes programs against their tests, each in a sandbox of its own."
    app = FastAPI(title="bigcodeflow", description=description, version=bigcodeflow.__version__, openapi_url=None)
    app.state.service = service
    app.add_middleware(OneLength)
    for kind in (RequestRefusedError, HTTPException, ClientDisconnect):
        app.add_exception_handler(kind, _answer_error)
    has_key = bool(service.settings.key)
    app.include_router(_open_router)
    refusals: dict[int | str, dict[str, Any]] = {
        status: _RESPONSES[status] for status in (400, 401 if has_key else 403)
    }
    for router, guard in ((_router, _require_key), (_fusion_router, _require_key_or_password)):
        app.include_router(router, dependencies=[Depends(guard if has_key else _require_own_name)], responses=refusals)
    app.openapi = cache(lambda: _openapi(app))  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's OpenAPI description plus the models of bodies, which are parsed by hand to count their size."""
    described = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    _, models = models_json_schema(
        [(model, "validation") for model in _READ_BY_HAND], ref_template="#/components/schemas/{model}"
    )
    described.setdefault("components", {}).setdefault("schemas", {}).update(models["$defs"])
    return described


def serve(
    environment: InstalledEnvironment,
    settings: ServingSettings,
    *,
    host: str,
    port: int,
    cores: int,
    slots_per_core: int,
    ready: Callable[[str, int], None],
    known: Contradictions | None = None,
    application: Callable[[Service], FastAPI] = make_app,
    **options: Any,
) -> None:
    """Serve until SIGTERM or SIGINT; then running items may end, and clients must send all others again.

    ``ready`` is called with URL and slots once requests are answered; ``known`` are altered tests that are validated in
    the environment; ``options`` go to ``uvicorn.Config``.
    """
    with (
        listening(host, port) as listener,
        closing(ExecutorPool(environment, cores=cores, slots_per_core=slots_per_core)) as pool,
    ):
        service = Service(pool, pool.check(ExecutionMode(settings.limits)), settings, known)
        url = f"http://{shown_host(host)}:{listener.getsockname()[1]}"
        with quiet_signals():
            ServiceServer(application(service), service, lambda: ready(url, pool.slots), **options).run([listener])


class ServiceServer(uvicorn.Server):
    """Uvicorn server of one service; once it shuts down, the service begins no further items."""

    def __init__(
        self, app: FastAPI, service: Service, ready: Callable[[], object] = lambda: None, **options: Any
    ) -> None:
        self._service, self._ready = service, ready
        own: dict[str, Any] = {
            "http": "h11",
            "ws": "none",
            "loop": "asyncio",
            "lifespan": "off",
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "proxy_headers": False,
            "backlog": BACKLOG,
            "timeout_keep_alive": 75,  # longer than clients keep connections, so that none is closed during a request
            "timeout_graceful_shutdown": 30,  # for running items
        }
        super().__init__(uvicorn.Config(app, **own | options))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.jobs.drain()
        await super().shutdown(sockets)


def usable_key(key: str, host: str, variable: str) -> str:
    """Return the key if it is usable; ConfigError if it is empty beyond loopback, or if no header can carry it."""
    if not key and not is_loopback(host):
        raise ConfigError(
            f"whoever reaches {host} could execute programs here: set {variable} to a key that clients have to know, "
            "or listen on 127.0.0.1"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{variable} holds blanks or characters outside ASCII, which an HTTP header cannot hold")
    return key
