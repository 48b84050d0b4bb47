"""The process of an explorer: listens, answers until it is stopped."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from bigcodeflow.core.listening import BACKLOG, listening, quiet_signals, shown_host
from bigcodeflow.explorer.app import Explorer, make_app


def explore(location: Path | str, *, host: str, port: int, ready: Callable[[str], object] = lambda _url: None) -> None:
    """Show a store's runs until SIGTERM or SIGINT; ``ready`` is called with the address once requests are answered."""
    with listening(host, port) as listener, quiet_signals():
        explorer = Explorer.of(location)
        url = f"http://{shown_host(host)}:{listener.getsockname()[1]}"
        with _warming_up(explorer):
            ExplorerServer(make_app(explorer, host=host), lambda: ready(url)).run([listener])
        explorer.index.close()


@contextmanager
def _warming_up(explorer: Explorer) -> Iterator[None]:
    """Warm up in a thread, which ends at its next step: a thread that DuckDB is in at the end of Python aborts it."""
    stopped = threading.Event()

    def work() -> None:
        for _ in explorer.warm_up():
            if stopped.is_set():
                return

    thread = threading.Thread(target=work, name="warm-up")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


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
