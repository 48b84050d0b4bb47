"""A Gradio space that executes in this machine's sandboxes: a page for people, and endpoints for machines.

python -m bigcodeflow.serving.space --environment bigcodebench --port 7860
"""

import argparse
import base64
import binascii
import hmac
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError
from bigcodeflow.environments import find_environment
from bigcodeflow.execution.remote.executor_pool import Kind, Workshop
from bigcodeflow.serving.guarding import OneLength, is_loopback, is_own_name
from bigcodeflow.serving.space_calls import Bounds, Calls

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger(__name__)

#: What Gradio reads when it is imported: nothing is sent to anybody.
_QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "GRADIO_SHARE": "False", "HF_HUB_DISABLE_TELEMETRY": "1"}
_STOP_SECONDS = 5
_EVENTS_AT_ONCE = 256

_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """What one space allows."""

    host: str = "127.0.0.1"
    port: int = 7860
    key_variable: str = "BIGCODEFLOW_SERVICE_KEY"
    """Environment variable with the key that is asked for; without one the space listens on loopback only."""
    calls: int = 64
    """Calls of machines that are answered at the same time."""
    queue: int = 64
    """Calls that wait beside these; a further one is told that the queue is full."""
    most_mib: int = 64
    """Size of an upload."""
    bounds: Bounds = field(default_factory=Bounds)
    store: str = "results/store"
    """Where the page's runs are kept."""

    @property
    def key(self) -> str:
        """The key itself, empty where none is asked for."""
        return os.environ.get(self.key_variable, "")

    @property
    def url(self) -> str:
        """The space's address, as this machine sees it."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


class Gate:
    """Lets in who has the key, as Bearer or as a browser's password, and no body that is too large.

    Without a key it lets in who names this machine: a page of another site can have its own name resolve to loopback.
    """

    def __init__(self, app: Any, *, key: str, most_bytes: int) -> None:
        """Stands before everything of the app, uploads included."""
        self._app, self._key, self._most_bytes = app, key.encode(), most_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        status = self._refusal(scope) if scope["type"] == "http" else HTTPStatus.NOT_FOUND
        if status is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = [(b"content-type", b"text/plain")]
            if status is HTTPStatus.UNAUTHORIZED:
                headers.append((b"www-authenticate", b'Basic realm="bigcodeflow"'))
            await send({"type": "http.response.start", "status": status.value, "headers": headers})
            await send({"type": "http.response.body", "body": status.phrase.encode()})
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Mapping[str, Any]) -> HTTPStatus | None:
        headers = dict(scope["headers"])
        if self._key and not hmac.compare_digest(_told_key(headers.get(b"authorization", b"")), self._key):
            return HTTPStatus.UNAUTHORIZED
        if not self._key and not is_own_name(headers.get(b"host", b"").decode("latin-1")):
            return HTTPStatus.FORBIDDEN
        if scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            return None
        length = headers.get(b"content-length", b"")
        if not length.isdigit():
            return HTTPStatus.LENGTH_REQUIRED
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if int(length) > self._most_bytes else None


def _told_key(authorization: bytes) -> bytes:
    scheme, _, told = authorization.strip().partition(b" ")
    if scheme.lower() == b"bearer":
        return told.strip()
    if scheme.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(told, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def make_app(calls: Calls, settings: SpaceSettings) -> "FastAPI":
    """The whole app: the page, the endpoints, and the gate before them.

    Raises:
        ConfigError: it would listen beyond loopback without a key.
    """
    if not is_loopback(settings.host) and not settings.key:
        raise ConfigError(
            f"a space on {settings.host} executes programs for everybody who finds it: put a key into "
            f"{settings.key_variable}, or listen on 127.0.0.1"
        )
    os.environ.update(_QUIET)
    import gradio
    from fastapi import FastAPI

    from bigcodeflow.serving.space_page import CSS, add_page, fitting_dataset, theme
    from bigcodeflow.serving.space_predict import add_predict
    from bigcodeflow.serving.space_runs import Runs

    environment = calls.workshop.environment
    runs = Runs(environment.name, settings, calls.workshop.slots)
    with gradio.Blocks(title="bigcodeflow", analytics_enabled=False, delete_cache=(3600, 86_400)) as blocks:
        add_page(runs, environment)
        add_predict(runs, fitting_dataset(environment))
        _add_endpoints(calls, settings)
    # Its queue holds one place for each event that is being answered.
    blocks.max_threads = _EVENTS_AT_ONCE
    blocks.queue(max_size=settings.queue, api_open=False)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
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
        theme=theme(),
        css=CSS,
    )
    app.add_middleware(Gate, key=settings.key, most_bytes=(settings.most_mib << 20) + 4096)
    app.add_middleware(OneLength)
    return app


def _add_endpoints(calls: Calls, settings: SpaceSettings) -> None:
    import gradio
    from gradio.events import api

    from bigcodeflow.serving.space_uploads import upload_field, uploaded

    async def execute(messages: str | None) -> AsyncIterator[str]:
        """A file of messages as JSON lines in, lines of answers out as they come."""
        if not messages:
            raise gradio.Error("upload a file of messages", print_exception=False)
        async for piece in calls.execute(uploaded(messages)):
            yield piece

    def info(kind: str = "") -> dict[str, Any]:
        return calls.info(kind)

    with gradio.Row(visible=False):
        file = upload_field("messages")
        answers = gradio.Textbox(label="answers")
        gradio.Button("execute").click(
            execute,
            file,
            answers,
            api_name="execute",
            api_description=execute.__doc__,
            concurrency_limit=settings.calls,
            show_progress="hidden",
        )
    api(info, api_name="info", api_description=Calls.info.__doc__, concurrency_limit=4)


def serve(workshop: Workshop, settings: SpaceSettings) -> None:
    """Serve until a signal says that it is enough; what is running then is ended.

    Raises:
        SandboxUnavailableError: this machine cannot isolate what would be executed.
        ConfigError: it would listen beyond loopback without a key.
    """
    import uvicorn

    try:
        app = make_app(Calls(workshop, settings.bounds), settings)
        workshop.check(Kind(LimitsConfig()))
        logger.warning("the space listens on %s", settings.url)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _ended)
        uvicorn.run(
            app,
            host=settings.host,
            port=settings.port,
            http="h11",
            log_level="warning",
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
    finally:
        workshop.close()


def _ended(_number: int, _frame: object) -> None:
    """Do nothing: the server sends itself the signal that ended it once more, before the sandboxes are ended."""


def _settings(told: argparse.Namespace) -> SpaceSettings:
    return SpaceSettings(
        host=told.host,
        port=told.port,
        key_variable=told.key_variable,
        calls=told.calls,
        queue=told.queue,
        most_mib=told.most_mib,
        bounds=Bounds(items=told.most_items, seconds=told.most_seconds, memory_mib=told.most_memory_mib),
        store=told.store,
    )


def _parser() -> argparse.ArgumentParser:
    default = SpaceSettings()
    parser = argparse.ArgumentParser(prog="python -m bigcodeflow.serving.space", description=__doc__)
    add = parser.add_argument
    add("--environment", default="bigcodebench", help="sandbox environment that programs run in")
    add("--host", default=default.host, help="address to listen on; beyond loopback a key is needed")
    add("--port", type=int, default=default.port)
    add("--key-variable", default=default.key_variable, help="environment variable with the key that is asked for")
    add("--cores", type=int, default=0, help="cores to keep busy; 0 takes all")
    add("--slots-per-core", type=int, default=8, help="items in flight for each core")
    add("--calls", type=int, default=default.calls, help="calls of machines that are answered at the same time")
    add("--queue", type=int, default=default.queue, help="calls that wait beside these")
    add("--most-mib", type=int, default=default.most_mib, help="size of an upload")
    add("--most-items", type=int, default=default.bounds.items, help="items of one call")
    add("--most-seconds", type=float, default=default.bounds.seconds, help="time limit that an item may ask for")
    add("--most-memory-mib", type=int, default=default.bounds.memory_mib, help="memory that an item may ask for")
    add("--store", default=default.store, help="folder of artifacts, for the page's runs")
    return parser


def main() -> int:
    """Serve as the command line says; 1 where that cannot be."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    told = _parser().parse_args()
    try:
        workshop = Workshop(find_environment(told.environment), cores=told.cores, slots_per_core=told.slots_per_core)
        serve(workshop, _settings(told))
    except BigCodeFlowError as error:
        logger.error("%s", error)  # noqa: TRY400 - a user's mistake is one line
        return 1
    return 0


if __name__ == "__main__":
    # Threads that wait for ended sandboxes hold nothing; waiting for them would only delay the end.
    code = main()
    sys.stderr.flush()
    os._exit(code)
