"""What of a service runs, as its folder, its processes and its server say."""

from typing import NamedTuple

from bigcodeflow.core.errors import ServiceError
from bigcodeflow.prefect_service.deployments import schedules
from bigcodeflow.prefect_service.folder import ServiceFolder, ServiceRecord, ServiceSettings
from bigcodeflow.prefect_service.orphans import running_here
from bigcodeflow.prefect_service.processes import ProcessIdentity
from bigcodeflow.prefect_service.server import PrefectServer


class ServiceState(NamedTuple):
    """One look at a service."""

    settings: ServiceSettings
    server: ProcessIdentity | None
    """None where it does not run."""
    worker: ProcessIdentity | None
    answering: bool
    """Whether the server answers requests."""
    worker_online: bool
    """Whether the server hears of the worker."""
    deployments: tuple[str, ...]
    active_schedules: tuple[str, ...]
    running: int
    """Flow runs with a process."""

    @property
    def ready(self) -> bool:
        """Whether a run that is triggered now is taken up."""
        return self.answering and self.worker is not None and self.worker_online


def observe(folder: ServiceFolder) -> ServiceState | None:
    """Look at a service; None where none was ever started.

    Raises:
        ServiceError: the record cannot be read.
    """
    if not folder.exists:
        return None
    record = folder.read()
    server = record.server if record.server is not None and record.server.alive else None
    worker = record.worker if record.worker is not None and record.worker.alive else None
    state = ServiceState(record.settings, server, worker, False, False, (), (), len(running_here(record)))  # noqa: FBT003 - named in the tuple
    if server is None:
        return state
    with PrefectServer(record.settings.api_url) as client:
        return _asked(client, record, state) if client.home() else state


def _asked(server: PrefectServer, record: ServiceRecord, state: ServiceState) -> ServiceState:
    try:
        names = sorted(one["name"] for one in server.deployments())
        active = sorted(f"{one.deployment}/{one.slug}" for one in schedules(server) if one.active)
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
    if not folder.exists:
        return None
    record = folder.read()
    if record.server is None or not record.server.alive:
        return None
    with PrefectServer(record.settings.api_url) as server:
        return record.settings if server.home() else None
