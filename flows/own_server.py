"""Temporary Prefect server that lives as long as this process, for a run without another Prefect server."""

import os
import signal
import threading
from contextlib import suppress
from typing import Any

from prefect.client.orchestration import get_client
from prefect.server.api.server import SubprocessASGIServer

from bigcodeflow.pipeline.interruption import when_leaving

_POLL_SECONDS = 0.2


def start_own_server() -> None:
    """Start Prefect's temporary server so that Ctrl-C ends the run and not the server.

    A terminal sends Ctrl-C to all processes of a command. A run without its server cannot report its end, and retries
    for minutes. So the server starts with SIGINT blocked. SIGTERM, with which Prefect ends it, is not blocked.
    A signal that ends this process ends the server first.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_with_server)
    starting = threading.Thread(target=_start, name="server", daemon=True)
    starting.start()
    while starting.is_alive():  # in steps, so that an interruption is noticed
        starting.join(_POLL_SECONDS)


def _start() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    when_leaving(_end)
    with suppress(RuntimeError):  # the run raises the error of a failed start again when it needs the server
        get_client(sync_client=True)


def _end_with_server(number: int, _frame: Any) -> None:
    _end()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _end() -> None:
    """Send SIGTERM to this process's temporary servers, as Prefect does at a regular end; they ignore Ctrl-C."""
    for server in list(SubprocessASGIServer._instances.values()):  # noqa: SLF001 - it offers no list of them
        if server.server_process is not None:
            server.server_process.terminate()
