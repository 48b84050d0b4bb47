"""A Gradio space that executes in this machine's sandboxes: a page for people, and the HTTP API for machines.

python -m bigcodeflow.serving.space --environment bigcodebench --port 7860
"""

import argparse
import base64
import hmac
import logging
import os
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError
from bigcodeflow.core.listening import is_loopback, is_own_name, is_same_site, shown_host
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.service.app import make_app, serve
from bigcodeflow.judge.service.request_parsing import ServingSettings
from bigcodeflow.judge.service.service import Service

logger = logging.getLogger(f"bigcodeflow.{__name__}")

#: Environment variables that Gradio reads at import: they turn off all telemetry.
_QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "GRADIO_SHARE": "False", "HF_HUB_DISABLE_TELEMETRY": "1"}
#: Upper bounds of an item's limits, except memory, which has an option.
_MOST: dict[str, Any] = {"address_space_mib": 1 << 20, "processes": 1 << 15, "disk_mib": 1 << 20, "output_kib": 1 << 16}


def _option(default: Any, description: str) -> Any:
    return field(default=default, metadata={"help": description})


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """Options of the space's command line."""

    environment: str = _option("bigcodebench", "sandbox environment that programs run in")
    host: str = _option("127.0.0.1", "address to listen on; beyond loopback a key is needed")
    port: int = _option(7860, "port to listen on")
    key_variable: str = _option("BIGCODEFLOW_SERVICE_KEY", "environment variable with the key that is asked for")
    cores: int = _option(0, "cores to keep busy; 0 takes all")
    slots_per_core: int = _option(8, "items in flight for each core")
    calls: int = _option(64, "largest batches of HTTP clients that may be open at the same time")
    queue: int = _option(64, "further batches that may wait, and events of the page that may wait")
    most_mib: int = _option(64, "size of an upload or a batch")
    most_items: int = _option(1000, "items of one batch")
    most_seconds: float = _option(3600.0, "time limit that an item may ask for")
    most_memory_mib: int = _option(32 * 1024, "memory that an item may ask for")
    store: str = _option("results/store", "folder of artifacts, for the page's runs")

    @property
    def key(self) -> str:
        return os.environ.get(self.key_variable, "")

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104
        return f"http://{shown_host(host)}:{self.port}"

    @property
    def serving(self) -> ServingSettings:
        return ServingSettings(
            most_limits=LimitsConfig(memory_mib=self.most_memory_mib, **_MOST),
            most_seconds=self.most_seconds,
            max_batch=self.most_items,
            max_body_mib=self.most_mib,
            max_queue=(self.calls + self.queue) * self.most_items,
            key=self.key,
        )


class Gate:
    """Middleware that passes on requests with the right key (Bearer or basic password) and a small enough body.

    If the space has no key, the request's Host header must name this machine, because another site can make its
    own name resolve to loopback. Requests from pages of other sites, which browsers mark with Origin, are refused.
    """

    def __init__(self, app: ASGIApp, *, key: str, most_bytes: int) -> None:
        self._app, self._key, self._most_bytes = app, key.encode(), most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        # The HTTP API has separate guards, which answer its clients in JSON.
        if kind == "lifespan" or (kind == "http" and scope["path"].startswith("/v1/")):
            await self._app(scope, receive, send)
        elif kind != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (status := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        else:
            asked = status is HTTPStatus.UNAUTHORIZED
            headers = {"WWW-Authenticate": 'Basic realm="bigcodeflow"'} if asked else None
            await PlainTextResponse(status.phrase, status, headers)(scope, receive, send)

    def _refusal(self, scope: Scope) -> HTTPStatus | None:
        headers = Headers(scope=scope)
        if self._key and not hmac.compare_digest(_sent_key(headers.get("authorization", "")), self._key):
            return HTTPStatus.UNAUTHORIZED
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if (not self._key and not is_own_name(host)) or (origin and not is_same_site(origin, host)):
            return HTTPStatus.FORBIDDEN
        if scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            return None
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return HTTPStatus.LENGTH_REQUIRED
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if int(length) > self._most_bytes else None


def _sent_key(authorization: str) -> bytes:
    scheme, given = get_authorization_scheme_param(authorization)
    if scheme.lower() == "basic":
        with suppress(ValueError):  # no base64
            return base64.b64decode(given, validate=True).partition(b":")[2]
    return given.encode("latin-1") if scheme.lower() == "bearer" else b""


def require_key_or_loopback(settings: SpaceSettings) -> None:
    if not is_loopback(settings.host) and not settings.key:
        raise ConfigError(
            f"a space on {settings.host} executes programs for everybody who finds it: put a key into "
            f"the environment variable {settings.key_variable}, or listen on 127.0.0.1"
        )


def make_space(settings: SpaceSettings, service: Service) -> FastAPI:
    """Make the application: the HTTP API and the page, with the gate in front of the page."""
    os.environ.update(_QUIET)
    import gradio

    from bigcodeflow_space.page import Evaluations, accept_only_uploads, add_page, add_predict

    own_service = {"url": settings.url, "key_variable": settings.key_variable, "concurrency": service.pool.slots}
    evaluations = Evaluations(service.pool.environment, settings.store, own_service)
    with gradio.Blocks(title="bigcodeflow", analytics_enabled=False, delete_cache=(3600, 86_400)) as blocks:
        add_page(evaluations)
        add_predict(evaluations)
    accept_only_uploads(blocks)
    # Gradio's queue has this number of places, one for each event that is being answered.
    blocks.max_threads = 256
    blocks.queue(max_size=settings.queue, api_open=False)
    app = make_app(service)
    gradio.mount_gradio_app(
        app,
        blocks,
        path="/",
        server_name=settings.host,
        server_port=settings.port,
        max_file_size=settings.most_mib << 20,
        show_error=True,
        ssr_mode=False,
        footer_links=["api"],
        run_history=False,
        # Fonts that every machine has: the page works without the internet.
        theme=gradio.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        css=".summary pre { font-size: 0.85rem; }",
    )
    app.add_middleware(Gate, key=settings.key, most_bytes=(settings.most_mib << 20) + 4096)
    return app


def main() -> int:
    """Serve until a signal arrives; return the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    parser = argparse.ArgumentParser(prog="python -m bigcodeflow.serving.space", description=__doc__)
    for option in fields(SpaceSettings):
        name, default = f"--{option.name.replace('_', '-')}", option.default
        parser.add_argument(name, type=type(default), default=default, help=option.metadata["help"])
    settings = SpaceSettings(**vars(parser.parse_args()))
    try:
        require_key_or_loopback(settings)
        environment = find_environment(settings.environment)
        serve(
            environment,
            settings.serving,
            host=settings.host,
            port=settings.port,
            cores=settings.cores,
            slots_per_core=settings.slots_per_core,
            ready=lambda *_: logger.warning("the space listens on %s", settings.url),
            known=StoredContradictions(None, environment.environment_sha),
            application=partial(make_space, settings),
            lifespan="on",
            proxy_headers=True,
            timeout_graceful_shutdown=5,
        )
    except BigCodeFlowError as error:
        logger.error("%s", error)  # noqa: TRY400 - a user's mistake is one line
        return 1
    return 0
