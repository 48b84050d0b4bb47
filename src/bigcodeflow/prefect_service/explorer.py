"""The explorer next to the Prefect server: started with it, for the store with the runs of its folder."""

import errno
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

import bigcodeflow
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, ServiceError
from bigcodeflow.core.paths import located, user_path
from bigcodeflow.prefect_service import processes

if TYPE_CHECKING:
    from bigcodeflow.prefect_service.start import Start

_HOST = "127.0.0.1"
_PORTS_TRIED = 100
_HIGHEST_PORT = 65_535
#: Number of starts: another program may take a free port before the explorer listens on it.
_ATTEMPTS = 3
_ASK_SECONDS = 5.0


class ExplorerStart:
    """Start of the explorer, unless one runs for that store; it becomes ready while the server starts."""

    def __init__(self, start: "Start") -> None:
        self._start = start
        self._began = False

    def begin(self) -> None:
        """Start the process, unless an explorer of this version and store already answers."""
        record = self._start.record
        if record.running_explorer is not None:
            if self._answers():
                return
            processes.end([record.running_explorer])
        self._try_launch()

    def finish(self) -> bool:
        """Wait until the explorer is ready; return True if it runs. Without it, the service still works."""
        record = self._start.record
        for attempt in range(1, _ATTEMPTS + 1):
            if not self._began:
                return record.running_explorer is not None
            try:
                self._start.wait("explorer", record.running_explorer, self._answers)
            except ServiceError as error:
                if attempt == _ATTEMPTS:
                    self._start.notify(f"runs go on without the explorer: {error}")
                elif not self._try_launch():
                    return False
            else:
                self._start.note("explorer")
                return True
        return False

    def _try_launch(self) -> bool:
        try:
            self._launch()
        except BigCodeFlowError as error:
            self._start.notify(f"the explorer does not start: {error}")
            return False
        return True

    def _launch(self) -> None:
        record, settings = self._start.record, self._start.record.settings
        port = free_port(_HOST, settings.explorer_port or settings.port + 1, asked=False)
        record.settings = settings.model_copy(update={"explorer_port": port})
        record.explored = _location(settings.store, self._start.project)
        arguments = (record.explored, _HOST, str(port))
        record.explorer = self._start.process("explorer", "bigcodeflow.explorer.server", *arguments)
        self._began = True

    def _answers(self) -> bool:
        """Tell if an explorer of this version and store answers at the address."""
        settings = self._start.record.settings
        expected = f"bigcodeflow {bigcodeflow.__version__} {_location(settings.store, self._start.project)}"
        try:
            found = httpx2.get(f"{settings.explorer_url}/health", timeout=_ASK_SECONDS, trust_env=False)
        except httpx2.HTTPError:
            return False
        return found.text == expected


def _location(store: str, project: Path) -> str:
    """Return the store's location as `open_store` names it; a relative path starts at the project folder."""
    place = located(store)
    return place if isinstance(place, str) else str((project / user_path(store)).resolve())


def free_port(host: str, port: int, *, asked: bool) -> int:
    """Return the port, or the next free one unless the user asked for this port; raise ConfigError if none is free."""
    for one in range(port, min(_HIGHEST_PORT, port + (0 if asked else _PORTS_TRIED)) + 1):
        try:
            with socket.create_server((host, one)):
                return one
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigError(f"--host {host} --port {one}: {error.strerror or error}") from None
    taken = f"--port {port} is taken by another program: name another, or none to get a free one"
    raise ConfigError(taken if asked else f"no port is free from {port} on: name one with --port")
