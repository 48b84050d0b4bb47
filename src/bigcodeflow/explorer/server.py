"""The process of an explorer: listens, answers until it is stopped."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from bigcodeflow.core.listening import BACKLOG, listening, quiet_signals, shown_host
from bigcodeflow.explorer.app import Explorer, make_app


def explore(location: Path | str, *, host: str, port: int, ready: Callable[[str], object] = lambda _url: None) -> None:
    """Show a store's runs until SIGTERM or SIGINT; ``ready`` is called with the address once requests are answered."""
    with listening(host, port) as listener, quiet_signals():
        explorer = Explorer.of(location)
        threading.Thread(target=explorer.warm_up, name="warm-up", daemon=True).start()
        url = f"http://{shown_host(host)}:{listener.getsockname()[1]}"
        ExplorerServer(make_app(explorer, host=host), lambda: ready(url)).run([listener])
        explorer.index.close()


class ExplorerServer(uvicorn.Server):
    """Uvicorn's server of an application, which says when it answers."""

    def __init__(self, app: ASGIApp, ready: Callable[[], object] = lambda: None) -> None:
        self._ready = ready
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._ready()
