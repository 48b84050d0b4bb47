"""The product as a service on one machine: a Prefect server, a worker and the deployments, started and stopped as one.

Both are ordinary `prefect` processes with a session of their own; this room starts them, talks HTTP to the server, and
keeps all that it has to remember in one folder (see :class:`ServiceFolder`).
"""

from bigcodeflow.prefect_service.folder import ServiceFolder, ServiceSettings
from bigcodeflow.prefect_service.observing import ServiceState, observe, running_server
from bigcodeflow.prefect_service.starting import Started, Wanted, bring_up
from bigcodeflow.prefect_service.stopping import bring_down

__all__ = [
    "ServiceFolder",
    "ServiceSettings",
    "ServiceState",
    "Started",
    "Wanted",
    "bring_down",
    "bring_up",
    "observe",
    "running_server",
]
