"""The addresses of a service."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

import bigcodeflow
from bigcodeflow.execution.backends.base import Capabilities
from bigcodeflow.execution.environment_check import absent_modules
from bigcodeflow.execution.integrity.checks import UNCHECKED, Finding, applied
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.executor_pool import Workshop
from bigcodeflow.execution.verdicts import verdict
from bigcodeflow.serving import guarding
from bigcodeflow.serving.checks import PassChecks
from bigcodeflow.serving.jobs import ATTEMPTS, Batch, BusyError, Finished, Jobs, StoppingError
from bigcodeflow.serving.models import BatchRequest, Health, Info, Prepared, PrepareRequest, Problem, Result, Verdict
from bigcodeflow.serving.request_parsing import Orders, RefusedError, read_batch, read_programs
from bigcodeflow.serving.settings import ServingSettings
from bigcodeflow.serving.streaming import LineStream

_TITLE = "bigcodeflow"
_DESCRIPTION = "Executes programs against their tests, each in a sandbox of its own."


class Service:
    """What stands behind the addresses."""

    def __init__(self, workshop: Workshop, capabilities: Capabilities, settings: ServingSettings) -> None:
        """Nothing is executed yet.

        Args:
            workshop: where items are executed.
            capabilities: what a check of it found.
            settings: what the service allows.
        """
        self.settings = settings
        self.jobs = Jobs(workshop, max_queue=settings.max_queue)
        self.budget = guarding.Budget(settings.held_bytes)
        self._workshop = workshop
        self._described = workshop.described(capabilities)
        self._checks = PassChecks(workshop, self._described["environment"]["environment_sha"])
        # One thread each: reading holds the interpreter anyway, and a survey of imports takes half a minute.
        self._reading = ThreadPoolExecutor(1, "reading")
        self._planning = ThreadPoolExecutor(1, "planning")

    def info(self) -> dict[str, Any]:
        """What a client has to know."""
        own = self.settings
        bounds = {name: getattr(own, name) for name in ("most_seconds", "max_batch", "max_body_mib", "max_queue")}
        counts = {"open_items": self.jobs.open_items, "executions": self.jobs.executions}
        return self._described | {"limits": own.limits.model_dump()} | bounds | counts

    async def read(self, body: bytes) -> Orders:
        """The work of a batch.

        Raises:
            RefusedError: it cannot be done here.
        """
        sha = self._described["environment"]["environment_sha"]
        loop = asyncio.get_running_loop()
        request, orders = await loop.run_in_executor(self._reading, read_batch, body, self.settings, sha)
        self._require_same(request)
        return await loop.run_in_executor(self._reading, self._with_absent, orders)

    async def starts(self, body: bytes) -> dict[str, Any]:
        """How each program of a request starts.

        Raises:
            RefusedError: the request has another form.
        """
        loop = asyncio.get_running_loop()
        texts = await loop.run_in_executor(self._reading, read_programs, body)
        starts = await loop.run_in_executor(self._planning, self._workshop.prepare, texts)
        return {"starts": [{"preload": preload, "zygote": zygote} for preload, zygote in starts]}

    async def lines(self, batch: Batch, orders: Orders) -> AsyncIterator[bytes]:
        """The results of a batch as they come; a blank line is a sign of life."""
        planned = asyncio.ensure_future(self._planned(orders))
        while not (await asyncio.wait([planned], timeout=protocol.ALIVE_SECONDS))[0]:
            yield b"\n"
        items = planned.result()
        names = [order.id for order in orders.items]
        self.jobs.begin(batch, list(zip(names, items, strict=True)), ATTEMPTS if orders.judged_here else 1)
        by_name = dict(zip(names, zip(orders.items, items, strict=True), strict=True))
        checked: dict[asyncio.Future[Finding], tuple[str, dict[str, Any]]] = {}
        async for found in batch.results():
            if found is None:
                yield b"\n"
                continue
            if not orders.judged_here:
                yield protocol.line({"id": found[0], "outcome": protocol.outcome_fields(found[1].outcome)})
                continue
            order, item = by_name[found[0]]
            row = self._verdict(found[1], item)
            if row["status"] == "pass" and order.reference is not None:
                check = asyncio.wrap_future(self._checks.submit(order, item, orders.kind))
                checked[check] = (found[0], row)
            else:
                yield _verdict_line(found[0], row)
        while checked:
            ended, _ = await asyncio.wait(checked, timeout=protocol.ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for check in ended:
                name, row = checked.pop(check)
                yield _verdict_line(name, applied({"": row}, {"": check.result()})[""])
            if not ended:
                yield b"\n"

    def _with_absent(self, orders: Orders) -> Orders:
        """The orders with what this environment lacks of what each names: no program may say so itself."""
        if not orders.judged_here:
            return orders
        named = frozenset().union(*(order.item.missing_imports for order in orders.items))
        absent = absent_modules(self._workshop.environment, named)
        items = [
            order._replace(item=replace(order.item, missing_imports=order.item.missing_imports & absent))
            for order in orders.items
        ]
        return orders._replace(items=items)

    async def _planned(self, orders: Orders) -> list[WorkItem]:
        items = [order.item for order in orders.items]
        if orders.kind.start == "cold" or all(order.planned for order in orders.items):
            return items
        texts = [(item.program, item.test) for item in items]
        loop = asyncio.get_running_loop()
        starts = await loop.run_in_executor(self._planning, self._workshop.prepare, texts)
        return [
            order.item if order.planned else replace(order.item, preload=preload, zygote=zygote)
            for order, (preload, zygote) in zip(orders.items, starts, strict=True)
        ]

    def close(self) -> None:
        """Read and plan nothing any more."""
        self._reading.shutdown(wait=False, cancel_futures=True)
        self._planning.shutdown(wait=False, cancel_futures=True)
        self._checks.close()

    def _verdict(self, finished: Finished, item: WorkItem) -> dict[str, Any]:
        sha = self._described["environment"]["environment_sha"]
        found = verdict(item, finished.outcome, backend="local", environment_sha=sha, attempts=finished.attempts)
        return found | {"integrity": UNCHECKED if found["status"] == "pass" else None}

    def _require_same(self, request: BatchRequest) -> None:
        """Refuse work that was planned for another service, such as this address's former one."""
        own = (self._described["code_version"], self._described["environment"]["environment_sha"])
        wanted = (request.code_version or own[0], request.environment_sha or own[1])
        if own != wanted:
            raise RefusedError(
                HTTPStatus.CONFLICT,
                f"the service has bigcodeflow {own[0]} and environment {own[1][:12]}, and the batch wants {wanted[0]} "
                f"and {wanted[1][:12]}: start it with the same, or run again to use what it has",
            )


def _verdict_line(name: str, row: dict[str, Any]) -> bytes:
    return protocol.line({"id": name, "verdict": {column: row[column] for column in Verdict.model_fields}})


def service_of(request: Request) -> Service:
    """The service that an application was made for."""
    return cast("Service", request.app.state.service)


_Own = Annotated[Service, Depends(service_of)]
_bearer = HTTPBearer(auto_error=False, description="The service's key.")


async def _require_key(given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)], service: _Own) -> None:
    guarding.require_key(given, service.settings.key)


async def _require_own_name(request: Request) -> None:
    guarding.require_own_name(request)


def _retry_after() -> dict[str, Any]:
    return {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}


_AMBIGUOUS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request states its length in two ways."}
}
_BUSY: dict[str, Any] = {"model": Problem, "description": "No room now.", "headers": _retry_after()}
_STOPPING: dict[str, Any] = {"model": Problem, "description": "The service is stopping.", "headers": _retry_after()}
_WITH_BODY: dict[int | str, dict[str, Any]] = {
    408: {"model": Problem, "description": "The body did not arrive in time."},
    413: {"model": Problem, "description": "The request, or its batch, is too large."},
    415: {"model": Problem, "description": "The body is not sent as JSON."},
    422: {"model": Problem, "description": "The request cannot be understood, or asks for more than is allowed."},
    429: _BUSY,
}
_LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One line for each item as it ends, in any order. An item without a line was not executed: "
        "the connection broke or the service stopped, and the item is to be sent again.",
        "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/Result"}}},
    },
    409: {"model": Problem, "description": "The batch was meant for another version or environment."},
    503: _STOPPING,
}


def _body(model: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_open_router = APIRouter()
_description_router = APIRouter(include_in_schema=False)
_router = APIRouter(prefix="/v1")


@_open_router.get("/health", responses={503: {"model": Health, "description": "The service is stopping."}})
async def health(service: _Own) -> Response:
    """Whether the service takes work; asks for no key."""
    stopping = service.jobs.stopping
    return _json({"status": "stopping" if stopping else "ok"}, HTTPStatus.SERVICE_UNAVAILABLE if stopping else 200)


@_description_router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """What this service answers, as OpenAPI has it; asks for the key as all but /health does."""
    return _json(cast("FastAPI", request.app).openapi())


@_router.get("/info", response_model=Info)
async def info(service: _Own) -> Response:
    """Version, environment, isolation and bounds."""
    return _json(service.info())


@_router.post("/prepare", response_model=Prepared, responses=_WITH_BODY, openapi_extra=_body("PrepareRequest"))
async def prepare(request: Request, service: _Own) -> Response:
    """Plan how items start warm, all that a client has together: libraries that many import are then kept imported."""
    with ExitStack() as held:
        body = await _read(request, service, held)
        return _json(await service.starts(body))


@_router.post("/batches", responses=_WITH_BODY | _LINES, openapi_extra=_body("BatchRequest"), response_class=Response)
async def batches(request: Request, service: _Own) -> Response:
    """Execute items; what is equal to an item that runs, or ended within some minutes, is not executed again."""
    with ExitStack() as held:
        orders = await service.read(await _read(request, service, held))
        try:
            batch = service.jobs.reserve(len(orders.items), orders.kind)
        except BusyError as error:
            raise guarding.busy(str(error)) from None
        except StoppingError as error:
            again = {"Retry-After": str(guarding.RETRY_SECONDS)}
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, str(error), headers=again) from None
        held.callback(service.jobs.release, batch)
        return LineStream(service.lines(batch, orders), held.pop_all().close)


async def _read(request: Request, service: Service, held: ExitStack) -> bytes:
    body = guarding.Body(service.budget, service.settings.max_body_bytes)
    held.callback(body.close)
    return await body.read(request)


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """In ASCII: what a client sent, such as a lone surrogate, may be part of a message."""
    return Response(json.dumps(content), status, headers, "application/json")


async def _answer_refusal(_request: Request, error: Exception) -> Response:
    refused = cast("RefusedError", error)
    return _json({"detail": list(refused.lines)}, refused.status, refused.headers)


async def _answer_unknown(_request: Request, error: Exception) -> Response:
    found = cast("HTTPException", error)
    return _json({"detail": [str(found.detail)]}, found.status_code, dict(found.headers or {}))


async def _answer_nobody(_request: Request, _error: Exception) -> Response:
    return Response(status_code=HTTPStatus.BAD_REQUEST)  # whoever sent half a body does not read it


def make_app(service: Service) -> FastAPI:
    """The application of a service; its description names every answer that it gives."""
    app = FastAPI(title=_TITLE, description=_DESCRIPTION, version=bigcodeflow.__version__, openapi_url=None)
    app.state.service = service
    app.add_middleware(guarding.OneLength)
    app.add_exception_handler(RefusedError, _answer_refusal)
    app.add_exception_handler(HTTPException, _answer_unknown)
    app.add_exception_handler(ClientDisconnect, _answer_nobody)
    guard = Depends(_require_key if service.settings.key else _require_own_name)
    refusals: dict[int | str, dict[str, Any]] = _AMBIGUOUS | (
        {401: {"model": Problem, "description": "The key is missing or wrong."}}
        if service.settings.key
        else {403: {"model": Problem, "description": "The request names another host."}}
    )
    app.include_router(_open_router)
    app.include_router(_description_router, dependencies=[guard])
    app.include_router(_router, dependencies=[guard], responses=refusals)
    app.openapi = _description_of(app)  # type: ignore[method-assign]
    return app


def _description_of(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """What FastAPI derives, and the models of bodies that are read by hand: for their size is counted on the way."""
    described: list[dict[str, Any]] = []

    def describe() -> dict[str, Any]:
        if not described:
            told = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            _, own = models_json_schema(
                [(BatchRequest, "validation"), (PrepareRequest, "validation"), (Result, "validation")],
                ref_template="#/components/schemas/{model}",
            )
            told.setdefault("components", {}).setdefault("schemas", {}).update(own["$defs"])
            described.append(told)
        return described[0]

    return describe
