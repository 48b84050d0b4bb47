"""A Prefect server that lives as long as this process, for a run without one."""

import signal
import threading
from contextlib import suppress

from prefect.client.orchestration import get_client
from prefect.server.api.server import SubprocessASGIServer

from bigcodeflow.pipeline.interruption import when_leaving

_POLL_SECONDS = 0.2


def start_own_server() -> None:
    """Start the server that Prefect starts for a process without one, so that Ctrl-C ends the run and not the server.

    A terminal sends Ctrl-C to all processes of a command. Without its server a run cannot say what became of it, and
    asks for it for minutes. A process inherits which signals are blocked; SIGTERM, with which Prefect ends it, is not.
    """
    starting = threading.Thread(target=_start, name="server", daemon=True)
    starting.start()
    while starting.is_alive():  # in steps, so that an interruption is noticed
        starting.join(_POLL_SECONDS)


def _start() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    when_leaving(_end)
    with suppress(RuntimeError):  # what keeps it from starting is raised again where the run asks for it
        get_client(sync_client=True)


def _end() -> None:
    """What Prefect does at a regular end; the server itself ignores Ctrl-C."""
    for server in list(SubprocessASGIServer._instances.values()):  # noqa: SLF001 - it offers no list of them
        if server.server_process is not None:
            server.server_process.terminate()
