"""Runs that the server believes to be running although nothing runs them any more."""

from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.folder import ServiceRecord
from bigcodeflow.prefect_service.server import PrefectServer

_RUN_VARIABLE = "PREFECT__FLOW_RUN_ID"
_END_SECONDS = 20.0


def end_strays(record: ServiceRecord) -> None:
    """End a server or worker whose start was interrupted before it was noted down."""
    known = (record.server, record.worker)
    found = processes.marked(record.mark).items()
    strays = [one for one, environment in found if one not in known and _RUN_VARIABLE not in environment]
    processes.end(strays, patience_seconds=_END_SECONDS)


def running_here(record: ServiceRecord) -> set[str]:
    """Ids of the flow runs that have a process of this service."""
    return {
        environment[_RUN_VARIABLE]
        for environment in processes.marked(record.mark).values()
        if environment.get(_RUN_VARIABLE)
    }


def report_crashed(server: PrefectServer, record: ServiceRecord) -> int:
    """Mark the worker's unfinished runs without a process as crashed, and what they ran inside; returns how many.

    A worker reports the death of its runs; with the worker or the whole machine gone nobody does, and a run that stays
    Running can neither be retried nor gives its place in the queue back.
    """
    alive = running_here(record)
    dead = [run for run in server.unfinished_runs(record.worker_name) if run["id"] not in alive]
    if not dead:
        return 0
    message = "The run's process ended together with its worker. Retry it: finished stages and samples are reused."
    for run in [*server.unfinished_subflows(run["id"] for run in dead), *dead]:
        server.set_state(run["id"], "CRASHED", message, force=True)
    return len(dead)
