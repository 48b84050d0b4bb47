"""Process of a service: it listens, serves until it is stopped, and cleans up at the end."""

import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import uvicorn
from fastapi import FastAPI

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.listening import BACKLOG, is_loopback, listening, quiet_signals, shown_host
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.integrity.contradictions import Contradictions
from bigcodeflow.judge.remote.executor_pool import ExecutionMode, ExecutorPool
from bigcodeflow.judge.service.app import make_app
from bigcodeflow.judge.service.request_parsing import ServingSettings
from bigcodeflow.judge.service.service import Service


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
