"""HTTP application of a service: its own routes, routes of plug-ins and access control; and its server process."""

import asyncio
import hashlib
import hmac
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, Literal, cast

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBasic, HTTPBasicCredentials, HTTPBearer
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import bigcodeflow
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.listening import BACKLOG, is_loopback, is_own_name, listening, quiet_signals, shown_host
from bigcodeflow.core.plugins import is_own, loaded_plugins, plugin_entries
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.integrity.contradictions import Contradictions
from bigcodeflow.judge.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.judge.remote.protocol import ApiModel, BatchRequest, Info, Prepared, PrepareRequest, Result
from bigcodeflow.judge.service.request_parsing import CLOSE, RequestRefusedError, ServingSettings, parse_batch
from bigcodeflow.judge.service.routes import RESPONSES, OwnService, Routes, body_options, json_response, read_body
from bigcodeflow.judge.service.service import Service

logger = logging.getLogger(__name__)

_GROUP = "bigcodeflow.routes"
#: A client that reads nothing for this time is treated as disconnected.
_STALLED_SECONDS = 60.0


class Health(ApiModel):
    """State of the service: 'ok' if it accepts work, 'stopping' if it accepts none."""

    status: Literal["ok", "stopping"]


class LineStream(StreamingResponse):
    """Response that sends lines when they arrive; ``on_end`` is called when it ends, also after an error."""

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


_bearer = HTTPBearer(auto_error=False, description="The service's key.")
_Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
_basic = HTTPBasic(auto_error=False, description="The service's key as the password, whatever the user's name.")


async def _require_key(given: _Bearer, service: OwnService) -> None:
    """Refuse a request without the right key in the Authorization header (Bearer)."""
    _compare_keys(given.credentials if given else None, service)


async def _require_key_or_password(
    given: _Bearer, password: Annotated[HTTPBasicCredentials | None, Depends(_basic)], service: OwnService
) -> None:
    """Refuse a request without the right key, as Bearer or as the password of a URL such as http://key:KEY@HOST."""
    _compare_keys(given.credentials if given else password.password if password else None, service)


def _compare_keys(given: str | None, service: Service) -> None:
    """Compare a key with the service's in constant time; refuse the request if they differ."""
    sent = (given or "").encode("utf-8", "surrogateescape")
    mine, theirs = (hashlib.sha256(text).digest() for text in (service.settings.key.encode(), sent))
    if not hmac.compare_digest(mine, theirs):
        reason = "the key is missing" if given is None else "the key is wrong"
        raise RequestRefusedError(
            HTTPStatus.UNAUTHORIZED,
            f"{reason}: send it as `Authorization: Bearer KEY`",
            headers={"WWW-Authenticate": "Bearer"},
        )


async def _require_own_name(request: Request) -> None:
    """Refuse requests whose Host header names another machine: without a key, pages of other sites could send them."""
    if not is_own_name(request.headers.get("host", "")):
        raise RequestRefusedError(
            HTTPStatus.FORBIDDEN,
            "a service without a key answers only requests to 127.0.0.1 or localhost: use such a URL",
        )


class OneLength:
    """Middleware that refuses requests with both Content-Length and Transfer-Encoding.

    A proxy may use the header that the service ignores; the service would then read the rest of the body as a separate
    (smuggled) request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if {name for name, _ in scope.get("headers", ())} >= {b"content-length", b"transfer-encoding"}:
            reason = "the request has both Content-Length and Transfer-Encoding: send one of them"
            app = JSONResponse({"detail": [reason]}, HTTPStatus.BAD_REQUEST, headers=CLOSE)
        await app(scope, receive, send)


_open_router = APIRouter()
_router = APIRouter()
_ROUTES = Routes(_router, (BatchRequest, PrepareRequest, Result))


@_open_router.get("/health", responses={503: {"model": Health, "description": "The service is stopping."}})
async def health(service: OwnService) -> Response:
    """Tell if the service accepts work; this route requires no key."""
    if service.jobs.stopping:
        return json_response({"status": "stopping"}, HTTPStatus.SERVICE_UNAVAILABLE)
    return json_response({"status": "ok"})


@_router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Return the OpenAPI description; this route requires the key, as all routes except /health do."""
    return json_response(cast("FastAPI", request.app).openapi())


@_router.get("/v1/info", response_model=Info)
async def info(service: OwnService) -> Response:
    """Return the service's version, environment, isolation and limits."""
    return json_response(service.info())


@_router.post("/v1/prepare", response_model=Prepared, **body_options(PrepareRequest))
async def prepare(request: Request, service: OwnService) -> Response:
    """Plan the warm starts of programs; send all programs together, so that common libraries are imported once."""
    with ExitStack() as held:
        body = await read_body(request, service, held)
        return json_response(await service.starts(body))


@_router.post("/v1/batches", response_class=Response, **body_options(BatchRequest, 200, 409, 503))
async def batches(request: Request, service: OwnService) -> Response:
    """Execute items; an item shares the execution of an equal item that runs or ended in the last minutes."""
    with ExitStack() as held:
        batch = await service.read(await read_body(request, service, held), parse_batch)
        reserved = held.enter_context(service.jobs.reserved(len(batch.items), batch.mode))
        return LineStream(service.lines(reserved, batch), held.pop_all().close)


async def _answer_error(_request: Request, error: Exception) -> Response:
    if isinstance(error, RequestRefusedError):
        return json_response({"detail": list(error.lines)}, error.status, error.headers)
    if isinstance(error, HTTPException):
        return json_response({"detail": [str(error.detail)]}, error.status_code, dict(error.headers or {}))
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
    refusals: dict[int | str, dict[str, Any]] = {status: RESPONSES[status] for status in (400, 401 if has_key else 403)}
    parts = (_ROUTES, *_plugin_routes())
    for part in parts:
        guard = (_require_key_or_password if part.password else _require_key) if has_key else _require_own_name
        app.include_router(part.router, dependencies=[Depends(guard)], responses=refusals)
    bodies = [model for part in parts for model in part.bodies]
    app.openapi = cache(lambda: _openapi(app, bodies))  # type: ignore[method-assign]
    return app


def _plugin_routes() -> Iterator[Routes]:
    """Yield the routes of plug-ins, bigcodeflow's own first; log a warning for each plug-in that is left out."""
    taken = [Routes(_open_router), _ROUTES]
    entries, loaded = plugin_entries(_GROUP), loaded_plugins(_GROUP, Routes)
    for name in sorted(loaded, key=lambda name: not is_own(entries[name].value)):
        if problem := _problem_of(loaded[name], taken):
            logger.warning("plug-in %s (%s) is left out: %s", name, entries[name].value, problem)
        else:
            taken.append(loaded[name])
            yield loaded[name]


def _problem_of(part: Routes, taken: Sequence[Routes]) -> str:
    """Return the reason why the routes of a plug-in cannot be served; empty if they can be served."""
    routes = [route for route in part.router.routes if isinstance(route, APIRoute)]
    # Routes of Starlette, websockets and mounted applications would answer without the key.
    if len(routes) < len(part.router.routes):
        return "it has other routes than FastAPI's, which would not require the key: remove them"
    known = {name for one in taken for name in _names_of(one)}
    return next((f"the service already has {name}: rename it" for name in _names_of(part) if name in known), "")


def _names_of(part: Routes) -> Iterator[str]:
    """Yield the names that must be unique in a service: method and path of each route, and name of each body model."""
    for route in part.router.routes:
        if isinstance(route, APIRoute):
            yield from (f"{method} {route.path}" for method in sorted(route.methods or ()))
    yield from (model.__name__ for model in part.bodies)


def _openapi(app: FastAPI, bodies: Sequence[type[BaseModel]]) -> dict[str, Any]:
    """Return FastAPI's OpenAPI description, plus the body models: FastAPI misses bodies that routes read themselves."""
    described = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    _, models = models_json_schema(
        [(model, "validation") for model in bodies], ref_template="#/components/schemas/{model}"
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
    """Serve until SIGTERM or SIGINT; then running items may end, and clients must send waiting items again.

    ``ready`` is called with the URL and the number of slots when the service accepts requests. ``known`` holds altered
    tests that are validated in the environment. ``options`` are passed to ``uvicorn.Config``.
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
    """Return a usable ``key``; raise ConfigError if it fits no HTTP header, or is empty and ``host`` not loopback."""
    if not key and not is_loopback(host):
        raise ConfigError(
            f"whoever reaches {host} could execute programs here: set {variable} to a key that clients have to know, "
            "or listen on 127.0.0.1"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"the key in {variable} has blanks or characters outside printable ASCII: choose another key")
    return key
