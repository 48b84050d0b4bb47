"""`down`: stop the runs, then the worker, then the server and all other processes of the service."""

import time
from typing import Any

from bigcodeflow.core.errors import ServiceError
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.folder import Notify, Part, ServiceFolder, ServiceRecord
from bigcodeflow.prefect_service.server import PrefectServer

_CANCEL_SECONDS = 60.0
_POLL_SECONDS = 0.5
_NOTIFY_EVERY_SECONDS = 30.0


def stop_service(folder: ServiceFolder, *, wait: bool, notify: Notify) -> tuple[str, ...]:
    """Stop worker, server, explorer and all processes that they started; return the names of the parts that ran.

    With `wait`, runs may finish; else they are cancelled, so that they can be retried after the next start.
    """
    if not folder.exists:
        return ()
    with folder.locked(notify) as record:
        parts: tuple[Part, ...] = ("worker", "server", "explorer")
        running = tuple(name for name in parts if record.running(name) is not None)
        if "server" in running:
            _stop_runs(folder, record, wait=wait, notify=notify)
        # End all processes that still carry the service's mark: flow runs of a dead worker, clusters of a dead run.
        processes.end(record.processes())
        record.server = record.worker = record.explorer = None
        folder.write(record)
    return running


def report_crashed(server: PrefectServer, record: ServiceRecord) -> int:
    """Mark the worker's unfinished runs without a process, and their subflows, as crashed; return the number of runs.

    Normally the worker reports that a run's process has died. If the worker or the machine died too, the run would stay
    Running: users could not retry the run, and its slot in the queue would stay occupied.
    """
    alive = record.flow_runs()
    dead = [run for run in server.unfinished_runs(record.worker_name) if run["id"] not in alive]
    if not dead:
        return 0
    message = "The run's process ended together with its worker. Retry it: finished stages and samples are reused."
    for run in [*server.unfinished_subflows(run["id"] for run in dead), *dead]:
        server.set_state(run["id"], "CRASHED", message, force=True)
    return len(dead)


def _stop_runs(folder: ServiceFolder, record: ServiceRecord, *, wait: bool, notify: Notify) -> None:
    """Pause the work pool, end runs and worker while the server can record their states, and resume the pool."""
    try:
        with PrefectServer(record.settings.api_url) as server:
            # Saved first, so that the next start resumes the pool if this process is killed. A pool that a user paused
            # stays paused.
            record.pool_paused = record.pool_paused or not server.pool_paused()
            if record.pool_paused:
                folder.write(record)
                server.pause_pool(paused=True)
            try:
                if wait:
                    _wait_for_runs(server, record, notify)
                elif record.running("worker"):
                    _cancel_runs(server, record, notify)
                if record.worker is not None:
                    processes.end([record.worker])
                processes.end(process for process in record.processes() if process != record.server)
                report_crashed(server, record)
            finally:
                resume_pool(server, folder, record)
    except ServiceError as error:
        if wait:
            raise
        notify(f"{error}; the stop goes on without the server")


def resume_pool(server: PrefectServer, folder: ServiceFolder, record: ServiceRecord) -> None:
    """Resume the work pool, which delivers runs, if a stop of the service has paused it."""
    if record.pool_paused:
        server.pause_pool(paused=False)
        record.pool_paused = False
        folder.write(record)


def _wait_for_runs(server: PrefectServer, record: ServiceRecord, notify: Notify) -> None:
    notified = float("-inf")
    while (runs := _running(server, record)) or record.flow_runs():
        if time.monotonic() - notified >= _NOTIFY_EVERY_SECONDS:
            notified = time.monotonic()
            names = ", ".join(run["name"] for run in runs) or "one that is about to end"
            notify(f"waiting for runs: {names} (Ctrl-C ends the wait; nothing is stopped)")
        time.sleep(_POLL_SECONDS)


def _cancel_runs(server: PrefectServer, record: ServiceRecord, notify: Notify) -> None:
    runs = _running(server, record)
    if not runs:
        return
    notify(f"cancelling {len(runs)} runs: {', '.join(run['name'] for run in runs)} …")
    for run in runs:
        server.set_state(run["id"], "CANCELLING", "`bigcodeflow down` stopped the service. Retry it after `up`.")
    ids, deadline = {run["id"] for run in runs}, time.monotonic() + _CANCEL_SECONDS
    # The worker reports the cancellation after the process has ended; if it stopped before, the run would be Crashed.
    while time.monotonic() < deadline and any(run["id"] in ids for run in server.unfinished_runs(record.worker_name)):
        time.sleep(_POLL_SECONDS)


def _running(server: PrefectServer, record: ServiceRecord) -> list[dict[str, Any]]:
    """Return the unfinished runs that have a process, or for which the worker is about to start one."""
    alive, starting = record.flow_runs(), record.running("worker") is not None
    return [
        run
        for run in server.unfinished_runs(record.worker_name)
        if run["id"] in alive or (starting and run["state_type"] == "PENDING")
    ]
