"""The product as a service on one machine: a Prefect server, a worker and the deployments, started and stopped as one.

Both are ordinary `prefect` processes with a session of their own. The package starts them, talks HTTP to the server,
and keeps all that it has to remember in one folder (see :class:`ServiceFolder`).
"""

from bigcodeflow.prefect_service.folder import (
    ServiceFolder,
    ServiceSettings,
    ServiceState,
    running_server,
    service_state,
)
from bigcodeflow.prefect_service.start import ServiceOptions, StartedService, start_service
from bigcodeflow.prefect_service.stop import stop_service

__all__ = [
    "ServiceFolder",
    "ServiceOptions",
    "ServiceSettings",
    "ServiceState",
    "StartedService",
    "running_server",
    "service_state",
    "start_service",
    "stop_service",
]
