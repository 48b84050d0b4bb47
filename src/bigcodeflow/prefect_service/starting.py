"""`up`: whatever of a service does not run is started, whatever is not registered is registered, the rest stays."""

import errno
import os
import socket
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.errors import ConfigError, ServiceError
from bigcodeflow.prefect_service import deployments, processes
from bigcodeflow.prefect_service.database import check_database, database_url, shown
from bigcodeflow.prefect_service.folder import MARK_VARIABLE, Say, ServiceFolder, ServiceRecord, ServiceSettings
from bigcodeflow.prefect_service.orphans import end_strays, report_crashed
from bigcodeflow.prefect_service.server import POOL, PrefectServer

_SERVER_SECONDS = 300
_WORKER_SECONDS = 300
_SAY_EVERY_SECONDS = 10.0
_POLL_SECONDS = 0.25
_END_SECONDS = 20.0
_PORTS_TRIED = 100
_FOREIGN = frozenset(
    {"PREFECT_API_KEY", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH", "PREFECT_UI_URL", "PREFECT_TEST_MODE"}
)


class Wanted(NamedTuple):
    """What a start was asked for; None takes what the last start had, or the default."""

    host: str | None = None
    port: int | None = None
    database: str | None = None
    deployments: Path | None = None
    execution_runs: int | None = None
    """Runs that may execute samples at once."""
    schedules: bool | None = None
    """Switches every schedule on or off."""


class Started(NamedTuple):
    """What runs after a start."""

    settings: ServiceSettings
    deployments: int
    schedules: tuple[int, int]
    """How many are active, of how many."""
    execution_runs: int | None
    new: tuple[str, ...]
    """What this start did; nothing where all was there."""


def bring_up(folder: ServiceFolder, project: Path, wanted: Wanted, say: Say) -> Started:
    """Start server and worker and register the deployments, as far as that is not done; return when all is ready.

    Args:
        folder: where the service keeps its state.
        project: folder in which runs start, and from which their relative paths count.
        wanted: settings to start with.
        say: told what is waited for.

    Raises:
        ConfigError: settings that cannot work, or differ from those of the running server.
        ServiceError: something that does not start, with the end of its log.
    """
    with folder.locked(say) as record:
        names = settle(record, wanted)
        folder.write(record)
        end_strays(record)
        starting = _Starting(folder, record, project, say)
        new = [*starting.server()]
        with PrefectServer(record.settings.api_url) as server:
            server.make_pool(execution_runs=wanted.execution_runs)
            if record.pool_paused:
                server.pause_pool(paused=False)
                record.pool_paused = False
                folder.write(record)
            new += starting.worker(server)
            new += starting.deployments(server, names)
            if wanted.schedules is not None:
                deployments.switch_schedules(server, active=wanted.schedules)
            starting.wait_for_worker(server)
            active = [schedule.active for schedule in deployments.schedules(server)]
            runs = server.execution_runs()
            return Started(record.settings, len(names), (sum(active), len(active)), runs, tuple(new))


def settle(record: ServiceRecord, wanted: Wanted) -> list[str]:
    """Bring the record's settings up to date; returns the names of the deployments.

    Raises:
        ConfigError: settings that cannot work, or differ from those of the running server.
        ServiceError: the database does not answer.
    """
    old = record.settings
    new = ServiceSettings(
        host=wanted.host or old.host,
        port=wanted.port or old.port,
        database=old.database if wanted.database is None else database_url(wanted.database),
        deployments=old.deployments if wanted.deployments is None else str(wanted.deployments.absolute()),
    )
    names = deployments.deployment_names(deployments.deployments_file(new.deployments))
    running = record.server is not None and record.server.alive
    if running and (new.host, new.port, new.database) != (old.host, old.port, old.database):
        raise ConfigError(
            f"the server runs at {old.ui_url} with {shown(old.database)}: run `bigcodeflow down` first to change "
            "--host, --port or --database"
        )
    if not running:
        new = new.model_copy(update={"port": _free_port(new, asked=wanted.port is not None)})
        if new.database:
            check_database(new.database)
    record.settings = new
    return names


def _free_port(settings: ServiceSettings, *, asked: bool) -> int:
    """The port, or the next free one where the user asked for none in particular."""
    for port in range(settings.port, settings.port + (1 if asked else _PORTS_TRIED)):
        try:
            with socket.create_server((settings.host, port)):
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigError(f"--host {settings.host} --port {port}: {error.strerror or error}") from None
    if asked:
        raise ConfigError(
            f"--port {settings.port} is taken by another program: name another, or none to get a free one"
        )
    raise ConfigError(f"no port is free from {settings.port} on: name one with --port")


class _Starting:
    """One start: what it has to know at every step."""

    def __init__(self, folder: ServiceFolder, record: ServiceRecord, project: Path, say: Say) -> None:
        self._folder = folder
        self._record = record
        self._project = project
        self._say = say

    def server(self) -> tuple[str, ...]:
        """The server answers when this returns."""
        record, settings = self._record, self._record.settings
        with PrefectServer(settings.api_url) as server:
            if record.server is not None and record.server.alive:
                started: tuple[str, ...] = ()
                if record.prefect_version != (installed := metadata.version("prefect")):
                    self._say(
                        f"the server runs Prefect {record.prefect_version}, installed is {installed}: "
                        "run `bigcodeflow down --wait` and `up` to change over"
                    )
            else:
                self._say(f"starting the Prefect server on {settings.ui_url} ({shown(settings.database)}) …")
                record.server = self._start(
                    "server", "server", "start", "--host", settings.host, "--port", settings.port
                )
                record.prefect_version = metadata.version("prefect")
                self._folder.write(record)
                started = ("server",)
            self._wait("server", record.server, lambda: self._is_ours(server.home()), _SERVER_SECONDS)
        return started

    def _is_ours(self, home: str | None) -> bool:
        # Somebody else's server may have taken the port in the second before ours did.
        return home is not None and Path(home) == self._folder.prefect_home

    def worker(self, server: PrefectServer) -> tuple[str, ...]:
        """The worker's process runs when this returns; runs whose processes died with an earlier one are told so."""
        record = self._record
        if record.worker is not None and record.worker.alive:
            if record.worker_api_url == record.settings.api_url:
                return ()
            processes.end([record.worker], patience_seconds=_END_SECONDS)
        name = record.worker_name
        crashed = report_crashed(server, record)
        if crashed:
            self._say(f"{crashed} runs had lost their process: marked as crashed, so that they can be retried")
        record.worker = self._start("worker", "worker", "start", "--pool", POOL, "--type", "process", "--name", name)
        record.worker_api_url = record.settings.api_url
        self._folder.write(record)
        return ("worker",)

    def wait_for_worker(self, server: PrefectServer) -> None:
        """The worker asks the server for runs when this returns."""
        name = self._record.worker_name
        self._wait("worker", self._record.worker, lambda: server.worker_online(name), _WORKER_SECONDS)

    def deployments(self, server: PrefectServer, names: list[str]) -> tuple[str, ...]:
        """The deployments are there, and are those of the code and the file as they are now."""
        record = self._record
        file = deployments.deployments_file(record.settings.deployments)
        current = deployments.fingerprint(file, self._project, record.settings.database)
        there = {deployment["name"] for deployment in server.deployments()}
        if record.deployed == current and there.issuperset(names):
            return ()
        self._say(f"registering {len(names)} deployments …")
        deployments.register(server, file, project=self._project, environment=self._environment())
        record.deployed = current
        self._folder.write(record)
        return ("deployments",)

    def _start(self, name: str, *arguments: str | int) -> processes.ProcessIdentity:
        log = self._folder.log(name)
        command = [sys.executable, "-m", "prefect", "--no-prompt", *map(str, arguments)]
        started = processes.start(command, folder=self._project, log=log, environment=self._environment())
        if started is None:
            raise self._broken(name, "ended at once")
        return started

    def _environment(self) -> dict[str, str]:
        """The user's variables but those that would lead to another server or its profile."""
        record, home = self._record, self._folder.prefect_home
        inherited = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        database = record.settings.database or f"sqlite+aiosqlite:///{home / 'prefect.db'}"
        authentication = os.environ.get("PREFECT_SERVER_API_AUTH_STRING")
        return {
            **inherited,
            **({"PREFECT_API_AUTH_STRING": authentication} if authentication else {}),
            MARK_VARIABLE: record.service_id,
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": record.settings.api_url,
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": database,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            # Prefect's 10 s and 5 s turn a busy disk into errors 503, which cost runs; waiting costs nothing.
            "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
            "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
            "DO_NOT_TRACK": "1",
            # Warnings of the library reach the run's page only from loggers that Prefect is told of.
            "PREFECT_LOGGING_EXTRA_LOGGERS": "bigcodeflow",
            # prefect.yaml writes it into the deployments as the folder of their runs.
            "PWD": str(self._project),
            "PYTHONUNBUFFERED": "1",
        }

    def _wait(
        self, name: str, process: processes.ProcessIdentity | None, ready: Callable[[], bool], patience_seconds: float
    ) -> None:
        began = said = time.monotonic()
        while not ready():
            now = time.monotonic()
            if process is None or not process.alive:
                raise self._broken(name, "ended before it was ready")
            if now - began > patience_seconds:
                processes.end([process], patience_seconds=_END_SECONDS)
                raise self._broken(name, f"was not ready within {patience_seconds:.0f} s and was stopped")
            if now - said >= _SAY_EVERY_SECONDS:
                said = now
                self._say(f"  the {name} is starting, {now - began:.0f} s so far …")
            time.sleep(_POLL_SECONDS)

    def _broken(self, name: str, what: str) -> ServiceError:
        end = self._folder.last_lines(name)
        return ServiceError(f"the Prefect {name} {what}; the end of {self._folder.logs / name}.log:\n{end}")
