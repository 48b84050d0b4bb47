"""What of a service runs, as its folder, its processes and its server say."""

from typing import NamedTuple

from bigcodeflow.core.errors import ServiceError
from bigcodeflow.prefect_service.folder import ServiceFolder, ServiceRecord, ServiceSettings
from bigcodeflow.prefect_service.processes import ProcessIdentity
from bigcodeflow.prefect_service.server import PrefectServer


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
    """Whether the server hears of the worker."""
    deployments: tuple[str, ...] = ()
    active_schedules: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether a run that is triggered now is taken up."""
        return self.answering and self.worker is not None and self.worker_online


def service_state(folder: ServiceFolder) -> ServiceState | None:
    """The state of a service; None where none was ever started.

    Raises:
        ServiceError: the record cannot be read.
    """
    if not folder.exists:
        return None
    record = folder.read()
    state = ServiceState(record.settings, record.running_server, record.running_worker, len(record.flow_runs()))
    if state.server is None:
        return state
    with PrefectServer(record.settings.api_url) as server:
        return _from_server(server, record, state) if server.home() else state


def _from_server(server: PrefectServer, record: ServiceRecord, state: ServiceState) -> ServiceState:
    try:
        names = sorted(one["name"] for one in server.deployments())
        active = sorted(f"{one.deployment}/{one.slug}" for one in server.schedules() if one.active)
        online = server.worker_online(record.worker_name)
    except ServiceError:  # stopped between two questions, or is still starting
        return state
    return state._replace(
        answering=True, worker_online=online, deployments=tuple(names), active_schedules=tuple(active)
    )


def running_server(folder: ServiceFolder) -> ServiceSettings | None:
    """Settings of the folder's server if it runs and answers, else None.

    Raises:
        ServiceError: the record cannot be read.
    """
    record = folder.read()
    if record.running_server is None:
        return None
    with PrefectServer(record.settings.api_url) as server:
        return record.settings if server.home() else None
