"""Prefect's server as `bigcodeflow up` starts it: it also refuses parameters with which a run could not start.

    python -m flows.form_server HOST PORT

A run of our flows that is started from the UI or the API is checked before it enters the queue, and a schedule before
it is saved: the reply lists all mistakes at once. Prefect handles all other requests.
"""

import asyncio
import base64
import hmac
import json
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID

import uvicorn
from prefect.server.api.server import create_app
from prefect.server.database import provide_database_interface
from prefect.server.models.block_documents import read_block_documents
from prefect.server.models.deployments import read_deployment
from prefect.server.schemas.filters import BlockTypeFilter
from prefect.settings import get_current_settings
from prefect.utilities.schema_tools.hydration import HydrationContext, HydrationError, hydrate
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from bigcodeflow.core.listening import is_loopback, is_own_name, is_same_site

#: Requests that start runs, and requests that save parameters, which the scheduler uses unchanged.
_FORMS = re.compile(
    r"POST /api/deployments/(?P<id>[0-9a-fA-F-]{36})/(create_flow_run(/bulk)?|(?P<saved>schedules))/?"
    r"|PATCH /api/deployments/(?P<edited>[0-9a-fA-F-]{36})(/schedules/[^/]+)?/?"
)
#: Filter for Prefect's Secret blocks, which hold API keys.
_SECRETS = {"slug": {"any_": ["secret"]}}


class OwnSiteOnly:
    """Middleware that refuses requests from pages of other web sites, because Prefect itself allows every origin.

    Such a page could run code through Prefect. If the API needs a password, Prefect checks that instead of this class.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app, self._is_loopback = app, is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or get_current_settings().server.api.auth_string is not None:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if (self._is_loopback and not is_own_name(host)) or (origin is not None and not is_same_site(origin, host)):
            detail = "This server accepts requests of its own pages only: open it as 127.0.0.1 or localhost."
            refusal = JSONResponse({"detail": detail}, HTTPStatus.FORBIDDEN)
            await (WebSocketClose() if scope["type"] == "websocket" else refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class FormChecks:
    """Middleware that checks a run's parameters: 409 lists all mistakes, 400 reports too deeply nested JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = f"{scope['method']} {scope['path']}" if scope["type"] == "http" else ""
        if (form := _FORMS.fullmatch(asked)) is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body, status = await request.body(), HTTPStatus.CONFLICT
        problems: list[str] = []
        try:
            if _is_authorized(request):
                problems, body = await _checked(form, body)
        except RecursionError:
            problems, status = ["the JSON body is nested too deeply: send fewer levels"], HTTPStatus.BAD_REQUEST
        if problems:
            what = "schedule cannot be saved" if "/schedules" in form[0] else "run cannot start"
            detail = f"This {what}: " + "; ".join(problems)
            # Prefect's UI sends requests to 127.0.0.1 even if it was opened as localhost.
            origin = request.headers.get("origin")
            readable = {"Access-Control-Allow-Origin": origin} if origin else None
            await JSONResponse({"detail": detail}, status, readable)(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)


async def _checked(form: re.Match[str], body: bytes) -> tuple[list[str], bytes]:
    """Return all mistakes in a request's parameters, and the body for Prefect; ``form`` is the match of `_FORMS`.

    If the request saves parameters, templates and variables in the body are replaced by their values. For a malformed
    request or an unknown deployment, return no mistakes and the same body: Prefect then reports the error.
    """
    is_saved = bool(form["saved"] or form["edited"])
    try:
        asked = json.loads(body or b"{}")
        entries = asked if isinstance(asked, list) else [asked]
        runs = [dict(entry.get("parameters") or {}) for entry in entries]
        id_ = UUID(form["id"] or form["edited"])
        # `up` registers deployments again after an update, also where a key is missing: a run says so when it starts.
        registers = any("entrypoint" in entry for entry in entries)
    except (AttributeError, TypeError, ValueError):
        return [], body
    if registers:
        return [], body
    database = provide_database_interface()
    async with database.session_context() as session:
        read: Any = read_deployment  # its decorator hides what it returns
        deployment = await read(session=session, deployment_id=id_)
        if deployment is None:
            return [], body
        try:
            context = await HydrationContext.build(
                session=session, raise_on_error=True, render_jinja=True, render_workspace_variables=True
            )
            given = [run for run in runs if run or not form["edited"]]  # switching a schedule on sends no parameters
            parameters = [hydrate({**deployment.parameters, **run}, context) for run in given]
            for entry, run in zip(entries, runs, strict=True):
                if is_saved and run:
                    entry["parameters"] = hydrate(run, context)
        except HydrationError:
            return [], body
        read = read_block_documents
        secrets = await read(session=session, block_type_filter=BlockTypeFilter.model_validate(_SECRETS))
        names = frozenset(str(block.name) for block in secrets)
    if "/schedules" in form[0]:  # Prefect checks the fields of runs
        required = (deployment.parameter_openapi_schema or {}).get("required", [])
        missing = [name for name in required if any(name not in one for one in parameters)]
        if missing:
            return [f"{name}: is required; give it in the schedule's parameters" for name in missing], body
    # Reading files and checking a backend takes time, in which the server handles other requests.
    problems = await asyncio.to_thread(_problems, deployment.entrypoint or "", parameters, names)
    return problems, json.dumps(asked).encode() if is_saved else body


def _problems(entrypoint: str, parameters: Sequence[Mapping[str, Any]], secrets: Collection[str]) -> list[str]:
    # Imported here, so that the server starts faster.
    from bigcodeflow.core.env_file import ENV_FILE_VARIABLE
    from bigcodeflow.pipeline.forms import problems_of_form

    file = Path(os.environ.get(ENV_FILE_VARIABLE) or os.devnull)
    return problems_of_form(entrypoint, parameters, secrets=secrets, env_file=file)


def _is_authorized(request: Request) -> bool:
    """Return True if Prefect would accept the request; refused senders must not learn what is on this machine."""
    secret = get_current_settings().server.api.auth_string
    if secret is None:
        return True
    expected = base64.b64encode(secret.get_secret_value().encode()).decode()
    return hmac.compare_digest(request.headers.get("authorization", ""), f"Basic {expected}")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that replays the request's body for the next application."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def main() -> None:
    """Run the server at HOST and PORT of the command line, until a signal ends it."""
    host, port = sys.argv[1:]
    api = get_current_settings().server.api
    uvicorn.run(
        OwnSiteOnly(FormChecks(create_app(final=True)), host),
        host=host,
        port=int(port),
        timeout_keep_alive=api.keepalive_timeout,
        ws_ping_interval=api.websocket_ping_interval,
        ws_ping_timeout=api.websocket_ping_timeout,
        log_level=get_current_settings().server.logging_level.lower(),
    )


if __name__ == "__main__":
    main()
