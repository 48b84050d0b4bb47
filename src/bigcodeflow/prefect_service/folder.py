"""The folder of one service: its record, settings, paths, and running processes.

The folder contains service.json (readable by its owner only, since a database URL may hold a password), lock, logs/ of
server and worker, and prefect/, Prefect's home with the SQLite database.
"""

import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.core.errors import ServiceError
from bigcodeflow.core.files import locked
from bigcodeflow.core.paths import located, user_path
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.processes import ProcessIdentity
from bigcodeflow.prefect_service.server import PrefectServer

Part = Literal["server", "worker", "explorer"]
#: Processes of a service.
PARTS: tuple[Part, ...] = ("server", "worker", "explorer")
#: Callback that receives one line about each step or wait.
Notify = Callable[[str], None]

#: Environment variable with the service's folder; commands read it, and the service's processes pass it on.
STATE_VARIABLE = "BIGCODEFLOW_STATE"
DEFAULT_STATE = ".bigcodeflow"
#: Environment variable with the service's id; set for server and worker, and inherited by their child processes.
MARK_VARIABLE = "BIGCODEFLOW_SERVICE"
#: Prefect's own environment variable, set for the process of a flow run.
RUN_VARIABLE = "PREFECT__FLOW_RUN_ID"


class ServiceSettings(SettingsModel):
    """Settings of a service, kept so that a later start needs no options."""

    host: str = "127.0.0.1"
    """Address to listen on; whoever reaches it can run code here."""
    port: int = Field(default=4200, ge=1, le=65535)
    """Port of the server."""
    database: str = ""
    """Prefect's database: postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME, or 'sqlite'."""
    deployments: str = ""
    """Path of your own prefect.yaml; empty for the shipped file."""
    env_file: str = ""
    """File of lines NAME=value that runs read when they start, such as keys of providers; '' removes this setting."""
    store: str = "results/store"
    """Folder or URL of the store whose runs the explorer shows."""
    explorer_port: int = 0
    """Port of the explorer, which listens on this machine only; 0 means that no port was chosen yet."""

    @property
    def ui_url(self) -> str:
        """URL of Prefect's UI for a browser, with a loopback address if the server listens on all interfaces."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104 - recognized, not bound
        return f"http://{host}:{self.port}"

    @property
    def api_url(self) -> str:
        """URL of the server's API, the value for PREFECT_API_URL."""
        return f"{self.ui_url}/api"

    @property
    def explorer_url(self) -> str:
        """URL of the explorer for a browser on this machine."""
        return f"http://127.0.0.1:{self.explorer_port}"


class ServiceRecord(BaseModel):
    """Content of service.json: the state of the service between two commands."""

    model_config = ConfigDict(extra="forbid")

    service_id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    settings: ServiceSettings = ServiceSettings()
    server: ProcessIdentity | None = None
    worker: ProcessIdentity | None = None
    explorer: ProcessIdentity | None = None
    explored: str = ""
    """Location of the store that the explorer was started for, as `open_store` returns it."""
    worker_api_url: str = ""
    """API URL of the server that the worker was started for."""
    prefect_version: str = ""
    """Version of Prefect that the running server was started with."""
    deployed: str = ""
    """Fingerprint of the registered deployments, see `deployments_fingerprint`."""
    pool_paused: bool = False
    """True if a stop paused the work pool and did not resume it."""

    @property
    def worker_name(self) -> str:
        """Name of the service's own worker; other machines may add workers to the same pool."""
        return f"{socket.gethostname()}-{self.service_id[:6]}"

    def running(self, name: Part) -> ProcessIdentity | None:
        """Return the process of a part (server, worker or explorer); None if it does not run."""
        process: ProcessIdentity | None = getattr(self, name)
        return process if process is not None and process.alive else None

    def processes(self) -> dict[ProcessIdentity, Mapping[str, str]]:
        """Return all processes of the service, child processes included, with their environment variables."""
        return processes.marked(MARK_VARIABLE, self.service_id)

    def flow_runs(self) -> set[str]:
        """Return the ids of flow runs that have a process of this service."""
        return {environment[RUN_VARIABLE] for environment in self.processes().values() if RUN_VARIABLE in environment}


class ServiceFolder:
    """Paths, lock and record of one service."""

    def __init__(self, root: Path) -> None:
        self.root = user_path(root).absolute()
        self.file = self.root / "service.json"
        self.logs = self.root / "logs"
        self.prefect_home = self.root / "prefect"
        #: Symbolic link to the user's file with variables; after a change, the next runs of a running worker read it.
        self.env_file = self.root / "env"
        #: SQLite database, used if the settings name no other database.
        self.database = self.prefect_home / "prefect.db"

    @property
    def exists(self) -> bool:
        """True if a service was ever started in this folder."""
        return self.file.is_file()

    def read(self) -> ServiceRecord:
        """Read the record, or make a new one if there is none; raise ServiceError if the file cannot be read."""
        try:
            return ServiceRecord.model_validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return ServiceRecord()
        except (OSError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise ServiceError(
                f"{self.file} cannot be read ({reason}): move it away and end the processes of this service yourself; "
                f"their ids are in {self.logs}/*.log"
            ) from None

    def write(self, record: ServiceRecord) -> None:
        """Write the record atomically, and make the link ``env_file`` point to the env file of the settings."""
        wanted = record.settings.env_file
        if wanted != (str(self.env_file.readlink()) if self.env_file.is_symlink() else ""):
            self.env_file.unlink(missing_ok=True)
            if wanted:
                self.env_file.symlink_to(wanted)
        aside = self.root / f".service.{os.getpid()}.tmp"
        aside.touch(mode=0o600)
        aside.write_text(record.model_dump_json(indent=1), encoding="utf-8")
        aside.replace(self.file)

    @contextmanager
    def locked(self, notify: Notify) -> Iterator[ServiceRecord]:
        """Hold the service's lock, so that every other start and stop waits; yield the service's record."""
        with ExitStack() as held:
            try:
                for folder in (self.root, self.logs, self.prefect_home):
                    folder.mkdir(parents=True, exist_ok=True)
                (self.root / ".gitignore").write_text("*\n", encoding="utf-8")
                held.enter_context(locked(self.root / "lock", blocking=False))
            except TimeoutError:
                notify(f"another `bigcodeflow up` or `down` is at work in {self.root}: waiting for it …")
                held.enter_context(locked(self.root / "lock"))
            except OSError as error:
                raise ServiceError(
                    f"the state cannot be kept in {self.root} ({error.strerror}): name another folder with --state"
                ) from None
            yield self.read()


class ServiceState(NamedTuple):
    """State of a service at one moment."""

    record: ServiceRecord
    running: int
    """Number of flow runs with a process."""
    answering: bool = False
    """True if the server answers requests."""
    worker_online: bool = False
    """True if the server receives heartbeats of the worker."""
    deployments: Sequence[str] = ()
    active_schedules: Sequence[str] = ()


def service_state(folder: ServiceFolder) -> ServiceState:
    """Return the state of a service: its processes and, if its server answers, worker, deployments and schedules."""
    record = folder.read()
    state = ServiceState(record, len(record.flow_runs()))
    if record.running("server") is None:
        return state
    with PrefectServer(record.settings.api_url) as server:
        if not server.home():
            return state
        try:
            return state._replace(
                answering=True,
                worker_online=server.worker_online(record.worker_name),
                deployments=sorted(one["name"] for one in server.deployments()),
                active_schedules=sorted(f"{one.deployment}/{one.slug}" for one in server.schedules() if one.active),
            )
        except ServiceError:  # the server stopped between two requests, or is still starting
            return state


def present_service() -> ServiceFolder:
    """Return the service folder that the environment variable BIGCODEFLOW_STATE names, or the default folder."""
    return ServiceFolder(Path(os.environ.get(STATE_VARIABLE, DEFAULT_STATE)))


def running_server() -> ServiceSettings | None:
    """Return the settings of the service in `present_service` if its server runs and answers, else None."""
    record = present_service().read()
    if record.running("server") is None:
        return None
    with PrefectServer(record.settings.api_url) as server:
        return record.settings if server.home() else None


def explorer_url(store: str) -> str:
    """Return the URL of the explorer of `present_service` if it runs and shows the store, else ''."""
    try:
        record = present_service().read()
    except ServiceError:
        return ""
    shown = record.running("explorer") is not None and record.explored == str(located(store))
    return record.settings.explorer_url if shown else ""
