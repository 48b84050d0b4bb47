"""The folder of one service: what was started, with which settings, where everything of it lies, and what of it runs.

It holds service.json (for its owner only, since a database's URL holds a password), lock, logs/ of server and worker,
and prefect/, Prefect's home with the SQLite database.
"""

import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bigcodeflow.core.errors import ServiceError
from bigcodeflow.core.paths import located, user_path
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.processes import ProcessIdentity
from bigcodeflow.prefect_service.server import PrefectServer
from bigcodeflow.store.files import locked

#: Gets a line about what is waited for or was done.
Notify = Callable[[str], None]

#: Names a service's folder to the commands, and in the environment of its processes to those that they start.
STATE_VARIABLE = "BIGCODEFLOW_STATE"
DEFAULT_STATE = ".bigcodeflow"
#: Written into the environment of the server and the worker, and inherited by all that they start.
MARK_VARIABLE = "BIGCODEFLOW_SERVICE"
#: Prefect's own, in the environment of a flow run's process.
RUN_VARIABLE = "PREFECT__FLOW_RUN_ID"


class ServiceSettings(SettingsModel):
    """What a service was started with; kept, so that a later start needs no option again."""

    host: str = "127.0.0.1"
    port: int = 4200
    database: str = ""
    """URL; empty for the SQLite file in the folder."""
    deployments: str = ""
    """Path of the prefect.yaml; empty for the shipped one."""
    env_file: str = ""
    """Path of a file with variables, such as keys, that each run reads when it starts; empty for none."""
    store: str = "results/store"
    """Folder, from the project's on, or URL of the store whose runs the explorer shows."""
    explorer_port: int = 0
    """Port of the explorer, which listens on this machine only; 0: none was chosen yet."""

    @property
    def ui_url(self) -> str:
        """Address for a browser; a server on every interface is reached over loopback."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104 - recognized, not bound
        return f"http://{host}:{self.port}"

    @property
    def api_url(self) -> str:
        """What PREFECT_API_URL has to be."""
        return f"{self.ui_url}/api"

    @property
    def explorer_url(self) -> str:
        """Address of the explorer for a browser on this machine."""
        return f"http://127.0.0.1:{self.explorer_port}"


class ServiceRecord(BaseModel):
    """What the folder remembers between two commands."""

    model_config = ConfigDict(extra="forbid")

    service_id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    settings: ServiceSettings = ServiceSettings()
    server: ProcessIdentity | None = None
    worker: ProcessIdentity | None = None
    explorer: ProcessIdentity | None = None
    explored: str = ""
    """Store that the explorer was started for, as `open_store` calls it."""
    worker_api_url: str = ""
    """Server that the worker was started for."""
    prefect_version: str = ""
    """Of the running processes."""
    deployed: str = ""
    """Fingerprint of what was registered."""
    pool_paused: bool = False
    """Whether a stop has paused the pool and not resumed it."""

    @property
    def worker_name(self) -> str:
        """Name of the service's own worker; other machines may add workers to the same pool."""
        return f"{socket.gethostname()}-{self.service_id[:6]}"

    @property
    def running_server(self) -> ProcessIdentity | None:
        """The server's process; None where it has ended."""
        return self.server if self.server is not None and self.server.alive else None

    @property
    def running_worker(self) -> ProcessIdentity | None:
        """The worker's process; None where it has ended."""
        return self.worker if self.worker is not None and self.worker.alive else None

    @property
    def running_explorer(self) -> ProcessIdentity | None:
        """The explorer's process; None where it has ended."""
        return self.explorer if self.explorer is not None and self.explorer.alive else None

    def processes(self) -> dict[ProcessIdentity, Mapping[str, str]]:
        """All that the service started and what those started in turn, with their environments."""
        return processes.marked(MARK_VARIABLE, self.service_id)

    def flow_runs(self) -> set[str]:
        """Ids of the flow runs that have a process of this service."""
        return {environment[RUN_VARIABLE] for environment in self.processes().values() if RUN_VARIABLE in environment}


class ServiceFolder:
    """Paths, lock and record of one service."""

    def __init__(self, root: Path) -> None:
        self.root = user_path(root).absolute()
        self.file = self.root / "service.json"
        self.logs = self.root / "logs"
        self.prefect_home = self.root / "prefect"
        #: Leads to the user's file with variables, so that a running worker's runs read another one from now on.
        self.env_file = self.root / "env"
        #: Used where the settings name no other.
        self.database = self.prefect_home / "prefect.db"

    @property
    def exists(self) -> bool:
        """Whether a service was ever started here."""
        return self.file.is_file()

    def read(self) -> ServiceRecord:
        """What is remembered; a new record where nothing is. A ServiceError says that the file cannot be read."""
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
        """Remember; whole or not at all."""
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
        """Keep every other start and stop of this service waiting."""
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
                    f"no state can be kept in {self.root} ({error.strerror}): name another folder with --state"
                ) from None
            yield self.read()


class ServiceState(NamedTuple):
    """A service at one moment."""

    settings: ServiceSettings
    server: ProcessIdentity | None
    """None where it does not run."""
    worker: ProcessIdentity | None
    running: int
    """Flow runs with a process."""
    answering: bool = False
    """Whether the server answers requests."""
    worker_online: bool = False
    """Whether the server receives heartbeats of the worker."""
    deployments: Sequence[str] = ()
    active_schedules: Sequence[str] = ()
    explorer: ProcessIdentity | None = None
    """None where it does not run."""

    @property
    def ready(self) -> bool:
        """Whether a run that is triggered now is taken up."""
        return self.answering and self.worker is not None and self.worker_online


def service_state(folder: ServiceFolder) -> ServiceState | None:
    """The state of a service; None where none was ever started."""
    if not folder.exists:
        return None
    record = folder.read()
    state = ServiceState(
        record.settings,
        record.running_server,
        record.running_worker,
        len(record.flow_runs()),
        explorer=record.running_explorer,
    )
    if state.server is None:
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
        except ServiceError:  # stopped between two questions, or is still starting
            return state


def running_server(folder: ServiceFolder) -> ServiceSettings | None:
    """Settings of the folder's server if it runs and answers, else None."""
    record = folder.read()
    if record.running_server is None:
        return None
    with PrefectServer(record.settings.api_url) as server:
        return record.settings if server.home() else None


def explorer_url(store: str) -> str:
    """Address of the explorer beside this process that shows a store; empty where there is none."""
    try:
        record = ServiceFolder(Path(os.environ.get(STATE_VARIABLE, DEFAULT_STATE))).read()
    except ServiceError:
        return ""
    shown = record.running_explorer is not None and record.explored == str(located(store))
    return record.settings.explorer_url if shown else ""
