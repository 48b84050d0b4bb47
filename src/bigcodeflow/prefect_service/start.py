"""`up`: start the parts of a service that do not run, and register missing deployments; the rest stays unchanged."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from bigcodeflow.core.env_file import ENV_FILE_VARIABLE, read_env_file
from bigcodeflow.core.errors import ConfigError, ServiceError
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.deployments import (
    begin_registration,
    deployments_fingerprint,
    finish_registration,
    read_deployments,
)
from bigcodeflow.prefect_service.explorer import ExplorerStart, free_port
from bigcodeflow.prefect_service.folder import (
    MARK_VARIABLE,
    RUN_VARIABLE,
    STATE_VARIABLE,
    Notify,
    ServiceFolder,
    ServiceRecord,
    ServiceSettings,
)
from bigcodeflow.prefect_service.new_database import keep_database, place_database
from bigcodeflow.prefect_service.server import POOL, PrefectServer
from bigcodeflow.prefect_service.stop import report_crashed, resume_pool

_START_SECONDS = 300
_NOTIFY_EVERY_SECONDS = 10.0
_POLL_SECONDS = 0.25
_WORKER_MODULE = "bigcodeflow.prefect_service.worker_process"
_CONNECT_SECONDS = 15
_LOG_BYTES = 10_000_000
_DRIVERS = {"postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg", "sqlite": "sqlite+aiosqlite"}
_URL_FORMS = "write postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or sqlite"
#: Environment variables that would direct the service to another server or profile.
_FOREIGN = ("PREFECT_API_KEY", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH", "PREFECT_UI_URL", "PREFECT_TEST_MODE")


class ServiceOptions(NamedTuple):
    """Options of a start; None takes the value of the last start, or the default."""

    host: str | None = None
    port: int | None = None
    database: str | None = None
    deployments: Path | None = None
    execution_runs: int | None = None
    """Number of runs that may execute samples at the same time."""
    schedules: bool | None = None
    """True switches every schedule on, False off."""
    env_file: Path | None = None
    """File with variables for the runs, such as keys of providers; an empty path removes the setting."""
    store: str | None = None
    """Store whose runs the explorer shows."""


class StartedService(NamedTuple):
    """State of a service after a start."""

    settings: ServiceSettings
    deployments: int
    schedules: Sequence[bool]
    """For each schedule, True if it is active."""
    execution_runs: int | None
    new: Sequence[str]
    """Parts that this start started or registered; empty if everything was running."""
    has_explorer: bool
    """True if the explorer runs."""


def start_service(folder: ServiceFolder, project: Path, options: ServiceOptions, notify: Notify) -> StartedService:
    """Start server, worker and explorer and register the deployments, if not yet done; return when all are ready.

    Args:
        folder: folder with the state of the service.
        project: working folder of the runs; their relative paths start there.
        options: settings to start with.
        notify: receives one line about each step or wait.

    Raises:
        ConfigError: settings that cannot work, or that differ from those of the running server.
        ServiceError: a process that does not start, with the end of its log.
    """
    with folder.locked(notify) as record:
        names = update_settings(record, options)
        folder.write(record)
        # End servers and workers that are in no record: their start was interrupted before it was saved.
        processes.end(
            process
            for process, environment in record.processes().items()
            if process not in (record.server, record.worker, record.explorer) and RUN_VARIABLE not in environment
        )
        start = Start(folder, record, project, notify)
        with ExitStack() as opened:
            registration = start.begun_registration()
            if registration is not None:  # leaving the block closes its standard input, which ends it if unfinished
                opened.enter_context(registration)
            explorer = ExplorerStart(start)
            explorer.begin()
            start.server()
            server = opened.enter_context(PrefectServer(record.settings.api_url))
            server.make_pool(execution_runs=options.execution_runs)
            resume_pool(server, folder, record)
            start.worker(server)
            start.deployments(server, names, registration)
            if options.schedules is not None:
                for schedule in server.schedules():
                    server.set_schedule(schedule, active=options.schedules)
            # The worker's process already runs; it is ready when the server receives its heartbeats.
            start.wait("worker", record.worker, lambda: server.worker_online(record.worker_name))
            has_explorer = explorer.finish()
            active = [schedule.active for schedule in server.schedules()]
            runs = server.execution_runs()
            return StartedService(record.settings, len(names), active, runs, start.new, has_explorer)


def update_settings(record: ServiceRecord, options: ServiceOptions) -> Collection[str]:
    """Update the record's settings from the options and return the names of the deployments."""
    old = record.settings
    new = ServiceSettings(
        host=options.host or old.host,
        port=options.port or old.port,
        database=old.database if options.database is None else database_url(options.database),
        deployments=old.deployments if options.deployments is None else str(options.deployments.absolute()),
        env_file=old.env_file if options.env_file is None else _env_file(options.env_file),
        store=options.store or old.store,
        explorer_port=old.explorer_port,
    )
    names = read_deployments(_deployments_file(new))
    if record.running_server is None:
        new = new.model_copy(update={"port": free_port(new.host, new.port, asked=options.port is not None)})
        if new.database:
            check_database(new.database)
    elif (new.host, new.port, new.database) != (old.host, old.port, old.database):
        raise ConfigError(
            f"the server runs at {old.ui_url} with {without_password(old.database)}: "
            "run `bigcodeflow down` first to change --host, --port or --database"
        )
    record.settings = new
    return names.keys()


def _env_file(path: Path) -> str:
    """Return the file's absolute path, or '' for an empty path; read the file once, so that its errors show now."""
    if path == Path():
        return ""
    file = user_path(path)
    read_env_file(file)
    return str(file.absolute())


def _deployments_file(settings: ServiceSettings) -> Path:
    return Path(settings.deployments) if settings.deployments else shipped("prefect.yaml")


def database_url(text: str) -> str:
    """Convert a user's URL to the form for Prefect; 'sqlite' gives '', which means the file in the service's folder."""
    if text in {"", "sqlite"}:
        return ""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigError(f"--database {text!r} is not a URL: {_URL_FORMS}") from None
    name = url.drivername
    if name not in _DRIVERS and name not in _DRIVERS.values():
        raise ConfigError(f"--database: Prefect cannot use {name}: {_URL_FORMS}")
    return url.set(drivername=_DRIVERS.get(name, name)).render_as_string(hide_password=False)


def without_password(url: str) -> str:
    """Return a database URL with its password hidden; 'SQLite' for an empty URL."""
    return make_url(url).render_as_string(hide_password=True) if url else "SQLite"


def check_database(url: str) -> None:
    """Connect once and report the error: the server would hide it among hundreds of lines."""
    parsed, shown = make_url(url), without_password(url)
    if parsed.drivername.startswith("sqlite"):
        if parsed.database and not Path(parsed.database).parent.is_dir():
            raise ServiceError(f"database {shown}: the folder {Path(parsed.database).parent} does not exist")
        return
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy.ext.asyncio import create_async_engine

    async def connect() -> None:
        engine = create_async_engine(url, connect_args={"timeout": _CONNECT_SECONDS})
        try:
            async with engine.connect():
                pass
        finally:
            await engine.dispose()

    try:
        asyncio.run(connect())
    except (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or f"no answer within {_CONNECT_SECONDS} s"
        raise ServiceError(
            f"database {shown} cannot be used: {reason}. Check that it runs, that the database exists, and user and "
            "password; then run `bigcodeflow up --database URL` again"
        ) from None


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the service: its steps, and the data that they share."""

    folder: ServiceFolder
    record: ServiceRecord
    project: Path
    notify: Notify
    new: list[str] = field(default_factory=list)
    """Parts that were started or registered."""

    def server(self) -> None:
        """Start the server unless it runs, and wait until it answers."""
        record, settings = self.record, self.record.settings
        installed = metadata.version("prefect")
        is_new = record.running_server is None and not settings.database and not self.folder.database.exists()
        if is_new:
            place_database(self.folder.database)
        if record.running_server is None:
            self.notify(f"starting the Prefect server on {settings.ui_url} ({without_password(settings.database)}) …")
            record.server = self.process("server", "flows.form_server", settings.host, str(settings.port))
            record.prefect_version = installed
            self.note("server")
        elif record.prefect_version != installed:
            self.notify(
                f"the server runs Prefect {record.prefect_version}, installed is {installed}: "
                "run `bigcodeflow down --wait` and `up` to change over"
            )
        with PrefectServer(settings.api_url) as server:
            # Compare the home folder: another server may have taken the port just before ours.
            self.wait("server", record.server, lambda: server.home() == str(self.folder.prefect_home))
        if is_new:
            keep_database(self.folder.database)

    def worker(self, server: PrefectServer) -> None:
        """Start the worker unless it runs for this server; mark runs of a dead worker without a process as crashed."""
        record = self.record
        if record.running_worker is not None:
            if record.worker_api_url == record.settings.api_url:
                return
            processes.end([record.running_worker])
        if crashed := report_crashed(server, record):
            self.notify(f"{crashed} runs had lost their process: marked as crashed, so that they can be retried")
        start = ("start", "--pool", POOL, "--type", "process")
        record.worker = self.process("worker", _WORKER_MODULE, *start, "--name", record.worker_name)
        record.worker_api_url = record.settings.api_url
        self.note("worker")

    def begun_registration(self) -> Popen[str] | None:
        """Begin a registration, which imports while the server starts; None if nothing has changed since the last."""
        return None if self.record.deployed == self._fingerprint() else self._begin_registration()

    def deployments(self, server: PrefectServer, names: Collection[str], begun: Popen[str] | None) -> None:
        """Register the deployments unless all exist and match the present code and file."""
        if begun is None and {deployment["name"] for deployment in server.deployments()}.issuperset(names):
            return
        self.notify(f"registering {len(names)} deployments …")
        with begun or self._begin_registration() as registration:
            finish_registration(registration, server, _deployments_file(self.record.settings))
        self.record.deployed = self._fingerprint()
        self.note("deployments")

    def wait(self, name: str, process: processes.ProcessIdentity | None, ready: Callable[[], bool]) -> None:
        """Wait until a started process is ready; end it and raise ServiceError if that takes too long."""
        began = notified = time.monotonic()
        while not ready():
            now = time.monotonic()
            if process is None or not process.alive:
                raise self.broken(name, "ended before it was ready")
            if now - began > _START_SECONDS:
                processes.end([process])
                raise self.broken(name, f"was not ready within {_START_SECONDS} s and was stopped")
            if now - notified >= _NOTIFY_EVERY_SECONDS:
                notified = now
                self.notify(f"  the {name} is starting, {now - began:.0f} s so far …")
            time.sleep(_POLL_SECONDS)

    def _begin_registration(self) -> Popen[str]:
        file = _deployments_file(self.record.settings)
        return begin_registration(file, project=self.project, environment=self._environment())

    def _fingerprint(self) -> str:
        settings = self.record.settings
        return deployments_fingerprint(_deployments_file(settings), self.project, settings.database)

    def note(self, what: str) -> None:
        """Add a started or registered part to `new`, and write the record."""
        self.new.append(what)
        self.folder.write(self.record)

    def process(self, name: str, module: str, *arguments: str) -> processes.ProcessIdentity:
        """Start a module as a process of the service, with its output in the log of that name."""
        # Without -P, a package in the project folder would hide an installed one of the same name.
        command = [sys.executable, "-P", "-m", module, *arguments]
        log = self.folder.logs / f"{name}.log"
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        started = processes.start(command, folder=self.project, log=log, environment=self._environment())
        if started is None:
            raise self.broken(name, "ended at once")
        return started

    def _environment(self) -> dict[str, str]:
        """Return the environment of the service's processes: the user's variables without `_FOREIGN`, and its own."""
        record, home = self.record, self.folder.prefect_home
        variables = {name: value for name, value in os.environ.items() if name not in _FOREIGN} | {
            MARK_VARIABLE: record.service_id,
            ENV_FILE_VARIABLE: str(self.folder.env_file),
            # Runs find the explorer in the service's record.
            STATE_VARIABLE: str(self.folder.root),
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": record.settings.api_url,
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": (
                record.settings.database or f"sqlite+aiosqlite:///{self.folder.database}"
            ),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            # With Prefect's defaults, 10 s and 5 s, a busy disk causes 503 errors, and runs fail; waiting is harmless.
            "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
            "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
            "DO_NOT_TRACK": "1",
            # Warnings of the library appear on the run's page only if Prefect knows the logger.
            "PREFECT_LOGGING_EXTRA_LOGGERS": "bigcodeflow",
            # prefect.yaml writes PWD into the deployments as the working folder of their runs.
            "PWD": str(self.project),
            "PYTHONUNBUFFERED": "1",
        }
        if authentication := os.environ.get("PREFECT_SERVER_API_AUTH_STRING"):
            variables["PREFECT_API_AUTH_STRING"] = authentication
        return variables

    def broken(self, name: str, what: str) -> ServiceError:
        """Make an error that says what happened to a process of the service, with the last 8 lines of its log."""
        log = self.folder.logs / f"{name}.log"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        end = "\n".join([f"  {line}" for line in lines if line.strip()][-8:])
        whose = "" if name == "explorer" else "Prefect "
        return ServiceError(f"the {whose}{name} {what}; the end of {log}:\n{end}")
