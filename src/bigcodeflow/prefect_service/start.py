"""`up`: start the parts of a service that do not run, and register missing deployments; leave other parts unchanged."""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

import bigcodeflow
from bigcodeflow.core.env_file import ENV_FILE_VARIABLE
from bigcodeflow.core.errors import BigCodeFlowError, ServiceError
from bigcodeflow.core.files import bytes_of, write_atomically
from bigcodeflow.core.paths import cache_folder, located, user_path
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.deployments import deployments_fingerprint, register_deployments
from bigcodeflow.prefect_service.folder import (
    MARK_VARIABLE,
    RUN_VARIABLE,
    STATE_VARIABLE,
    Notify,
    Part,
    ServiceFolder,
    ServiceRecord,
    ServiceSettings,
)
from bigcodeflow.prefect_service.options import deployments_file, free_port, update_settings, without_password
from bigcodeflow.prefect_service.server import POOL, PrefectServer
from bigcodeflow.prefect_service.stop import report_crashed, resume_pool

_START_SECONDS = 300
_NOTIFY_EVERY_SECONDS = 10.0
_POLL_SECONDS = 0.25
_ASK_SECONDS = 5.0
_EXPLORER_HOST = "127.0.0.1"
_LOG_BYTES = 10_000_000
#: Environment variables that would direct the service to another server or profile.
_FOREIGN = ("PREFECT_API_KEY", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH", "PREFECT_TEST_MODE")


class StartedService(NamedTuple):
    """State of a service after a start."""

    settings: ServiceSettings
    deployments: int
    schedules: Sequence[bool]
    """True for each active schedule, False for each inactive schedule."""
    execution_runs: int | None
    new: Sequence[str]
    """Parts that were started or registered; empty if everything was running already."""
    has_explorer: bool
    """True if the explorer runs."""


def start_service(
    folder: ServiceFolder,
    project: Path,
    given: Mapping[str, Any],
    notify: Notify,
    *,
    execution_runs: int | None = None,
    schedules: bool | None = None,
) -> StartedService:
    """Start server, worker and explorer and register the deployments, if not yet done; return when all are ready.

    Relative paths of runs start in ``project``. Settings that ``given`` does not contain keep their values of the last
    start, or their defaults. ``execution_runs`` is the number of runs that may execute samples at the same time.
    ``schedules`` switches every schedule on or off; None leaves every schedule as it is.

    Raises:
        ConfigError: settings that cannot work, or that differ from those of the running server.
        ServiceError: a process that does not start, with the end of its log.
    """
    with folder.locked(notify) as record:
        names = update_settings(record, given)
        folder.write(record)
        # End servers and workers that are in no record: their start was interrupted before it was saved.
        processes.end(
            process
            for process, environment in record.processes().items()
            if process not in (record.server, record.worker, record.explorer) and RUN_VARIABLE not in environment
        )
        start = Start(folder, record, project, notify)
        start.server()
        is_launched = start.begin_explorer()
        with PrefectServer(record.settings.api_url) as server:
            server.make_pool(execution_runs=execution_runs)
            resume_pool(server, folder, record)
            start.worker(server)
            start.deployments(server, names)
            if schedules is not None:
                switch_schedules(server, folder, active=schedules, notify=notify)
            # The worker's process already runs; it is ready when the server receives its heartbeats.
            start.wait("worker", lambda: server.worker_online(record.worker_name))
            has_explorer = start.finish_explorer(is_launched=is_launched)
            active = [schedule.active for schedule in server.schedules()]
            runs = server.execution_runs()
            return StartedService(record.settings, len(names), active, runs, start.new, has_explorer)


def switch_schedules(server: PrefectServer, folder: ServiceFolder, *, active: bool, notify: Notify) -> None:
    """Switch every schedule on or off; notify of each active schedule whose runs could not start, and why."""
    from bigcodeflow.pipeline.forms import problems_of_form  # takes long to import

    found = server.schedules()
    for schedule in found:
        server.set_schedule(schedule, active=active)
    secrets = server.secrets() if active else ()
    for schedule in found if active else ():
        form = (schedule.entrypoint, [schedule.parameters])
        for problem in problems_of_form(*form, secrets=secrets, env_file=folder.env_file):
            notify(f"the schedule {schedule.deployment}/{schedule.slug} is on, but {problem}")


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the service: methods for its steps, and the data that the steps share."""

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
        is_new = record.running("server") is None and not settings.database and not self.folder.database.exists()
        if is_new:
            place_database(self.folder.database)
        if record.running("server") is None:
            self.notify(f"starting the Prefect server on {settings.ui_url} ({without_password(settings.database)}) …")
            record.server = self.process("server", "flows.form_server", settings.host, str(settings.port))
            record.prefect_version = installed
            self.note("server")
        elif record.prefect_version != installed:
            self.notify(
                f"the server runs Prefect {record.prefect_version}, the installed version is {installed}: "
                "run `bigcodeflow down --wait`, then `bigcodeflow up` to switch"
            )
        with PrefectServer(settings.api_url) as server:
            # Compare the home folder: another server may have taken the port just before ours.
            self.wait("server", lambda: server.home() == str(self.folder.prefect_home))
        if is_new:
            keep_database(self.folder.database)

    def worker(self, server: PrefectServer) -> None:
        """Start the worker, unless one runs for this server.

        First mark unfinished runs of a former worker as crashed if their process has ended: they can then be retried.
        """
        record = self.record
        if (running := record.running("worker")) is not None:
            if record.worker_api_url == record.settings.api_url:
                return
            processes.end([running])
        if crashed := report_crashed(server, record):
            self.notify(f"{crashed} runs had lost their process: they are marked as crashed and can be retried")
        start = ("--no-prompt", "worker", "start", "--pool", POOL, "--type", "process", "--name", record.worker_name)
        record.worker = self.process("worker", "prefect", *start)
        record.worker_api_url = record.settings.api_url
        self.note("worker")

    def deployments(self, server: PrefectServer, names: Collection[str]) -> None:
        """Register the deployments, unless all exist and match the current code and prefect.yaml."""
        settings = self.record.settings
        file = deployments_file(settings)
        fingerprint = deployments_fingerprint(file, self.project, settings.database)
        existing = {deployment["name"] for deployment in server.deployments()}
        if self.record.deployed == fingerprint and existing.issuperset(names):
            return
        self.notify(f"registering {len(names)} deployments …")
        register_deployments(file, server, project=self.project, environment=self._environment())
        self.record.deployed = fingerprint
        self.note("deployments")

    def begin_explorer(self) -> bool:
        """Start the explorer, unless an explorer of this version and store answers; return True if it was started.

        The explorer becomes ready while the worker starts, see `finish_explorer`. If the start fails, notify the user.
        """
        record, settings = self.record, self.record.settings
        try:
            if (running := record.running("explorer")) is not None:
                if self._explorer_answers():
                    return False
                processes.end([running])
            port = free_port(_EXPLORER_HOST, settings.explorer_port or settings.port + 1, asked=False)
            record.settings = settings.model_copy(update={"explorer_port": port})
            record.explored = self._explored()
            record.explorer = self.process(
                "explorer", "bigcodeflow.explorer.server", record.explored, _EXPLORER_HOST, str(port)
            )
        except BigCodeFlowError as error:
            self.notify(f"the explorer does not start: {error}")
            return False
        return True

    def finish_explorer(self, *, is_launched: bool) -> bool:
        """Wait until a launched explorer is ready; return True if it runs. The service also works without it."""
        if not is_launched:
            return self.record.running("explorer") is not None
        try:
            self.wait("explorer", self._explorer_answers)
        except ServiceError as error:
            self.notify(f"the service goes on without the explorer: {error}")
            return False
        self.note("explorer")
        return True

    def _explorer_answers(self) -> bool:
        """Tell if an explorer of this version and store answers at the explorer's address in the settings."""
        expected = f"bigcodeflow {bigcodeflow.__version__} {self._explored()}"
        with suppress(httpx2.HTTPError):
            url = f"{self.record.settings.explorer_url}/health"
            return httpx2.get(url, timeout=_ASK_SECONDS, trust_env=False).text == expected
        return False

    def _explored(self) -> str:
        """Return the store's location as `open_store` names it; a relative path starts at the project folder."""
        store = self.record.settings.store
        place = located(store)
        return place if isinstance(place, str) else str((self.project / user_path(store)).resolve())

    def wait(self, name: Part, ready: Callable[[], bool]) -> None:
        """Wait until a started process is ready; raise ServiceError if it ends, or takes too long (then end it)."""
        began = notified = time.monotonic()
        while not ready():
            now = time.monotonic()
            if (process := self.record.running(name)) is None:
                raise self.broken(name, "ended before it was ready")
            if now - began > _START_SECONDS:
                processes.end([process])
                raise self.broken(name, f"was not ready within {_START_SECONDS} s and was stopped")
            if now - notified >= _NOTIFY_EVERY_SECONDS:
                notified = now
                self.notify(f"  the {name} is starting, {now - began:.0f} s so far …")
            time.sleep(_POLL_SECONDS)

    def note(self, what: str) -> None:
        """Add a started or registered part to ``new``, and write the service's record."""
        self.new.append(what)
        self.folder.write(self.record)

    def process(self, name: Part, module: str, *arguments: str) -> processes.ProcessIdentity:
        """Start a module as a process of the service; its output goes to the log ``name``."""
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
        """Return variables for the environment of the processes: the user's, except `_FOREIGN`, and the service's."""
        record, home = self.record, self.folder.prefect_home
        variables = {name: value for name, value in os.environ.items() if name not in _FOREIGN} | {
            MARK_VARIABLE: record.service_id,
            ENV_FILE_VARIABLE: str(self.folder.env_file),
            # Runs find the explorer in the service's record.
            STATE_VARIABLE: str(self.folder.root),
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": record.settings.api_url,
            # Prefect's own links would open its first UI, and the forms are made for the second, the default.
            "PREFECT_UI_URL": f"{record.settings.ui_url}/v2",
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": (
                record.settings.database or f"sqlite+aiosqlite:///{self.folder.database}"
            ),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
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

    def broken(self, name: Part, what: str) -> ServiceError:
        """Make the error for a process of the service: its name, ``what`` happened, and the last 8 lines of its log."""
        log = self.folder.logs / f"{name}.log"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        end = "\n".join([f"  {line}" for line in lines if line.strip()][-8:])
        whose = "" if name == "explorer" else "Prefect "
        return ServiceError(f"the {whose}{name} {what}; last lines of {log}:\n{end}")


def place_database(file: Path) -> None:
    """Create the SQLite database of a new service from the copy that `keep_database` cached for this Prefect version.

    For an empty database, a server runs all of Prefect's migrations, which takes half of its start time. If there is
    no cached copy, do nothing: the server then makes the database.
    """
    if (content := bytes_of(_kept_database())) is not None:
        write_atomically(file, content)


def keep_database(file: Path) -> None:
    """Copy a new database, still without pool and runs, to the cache, unless the cache has a copy or is read-only."""
    if _kept_database().exists():
        return
    with closing(sqlite3.connect(file)) as database, closing(sqlite3.connect(":memory:")) as copy:
        database.backup(copy)
        with suppress(OSError):
            write_atomically(_kept_database(), copy.serialize())


def _kept_database() -> Path:
    return cache_folder() / "prefect" / f"{metadata.version('prefect')}.db"
