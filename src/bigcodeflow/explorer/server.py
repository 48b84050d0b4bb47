"""Server process of the explorer: it listens and answers until it is stopped.

`bigcodeflow up` starts it as `python -m bigcodeflow.explorer.server STORE HOST PORT`.
"""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.listening import BACKLOG, listening, quiet_signals, shown_host
from bigcodeflow.explorer.app import make_app, warm_up
from bigcodeflow.explorer.catalog import Catalog


def explore(location: Path | str, *, host: str, port: int, ready: Callable[[str], object] = lambda _url: None) -> None:
    """Serve a store's runs until SIGTERM or SIGINT; call ``ready`` with the address when the server can answer."""
    with listening(host, port) as listener, quiet_signals():
        catalog = Catalog(location)
        url = f"http://{shown_host(host)}:{listener.getsockname()[1]}"
        with _warming_up(catalog):
            ExplorerServer(make_app(catalog, host=host), lambda: ready(url)).run([listener])


@contextmanager
def _warming_up(catalog: Catalog) -> Iterator[None]:
    """Run `warm_up` in a thread and wait for the thread's end: Python aborts if a thread is inside DuckDB at exit."""
    stopped = threading.Event()

    def work() -> None:
        for _ in warm_up(catalog):
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
    """Uvicorn server that calls ``ready`` when it can answer."""

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
        """Start listening, then call ``ready``."""
        await super().startup(sockets)
        self._ready()


if __name__ == "__main__":
    store, address, port_number = sys.argv[1:]
    try:
        explore(store, host=address, port=int(port_number), ready=lambda url: print(url, flush=True))  # noqa: T201 - its log
    except BigCodeFlowError as problem:
        sys.exit(str(problem))
