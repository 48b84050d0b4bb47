"""`down`: runs first, then the worker, then the server, until no process of the service is left."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bigcodeflow.core.errors import ServiceError
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.folder import Say, ServiceFolder, ServiceRecord
from bigcodeflow.prefect_service.orphans import report_crashed, running_here
from bigcodeflow.prefect_service.server import PrefectServer

_CANCEL_SECONDS = 60.0
_END_SECONDS = 20.0
_POLL_SECONDS = 0.5
_SAY_EVERY_SECONDS = 30.0


def bring_down(folder: ServiceFolder, *, wait: bool, say: Say) -> tuple[str, ...]:
    """Stop worker and server and all that they started; returns which of them ran.

    Args:
        folder: where the service keeps its state.
        wait: let runs end by themselves; else they are cancelled, and can be retried after the next start.
        say: told what is waited for.

    Raises:
        ServiceError: the record cannot be read.
    """
    if not folder.exists:
        return ()
    with folder.locked(say) as record:
        running = tuple(name for name in ("worker", "server") if _alive(record, name))
        if "server" in running:
            _stop_work(folder, record, wait=wait, say=say)
        _end_rest(record, spare_server=False)
        record.server = record.worker = None
        folder.write(record)
    return running


def _alive(record: ServiceRecord, name: str) -> bool:
    process: processes.ProcessIdentity | None = getattr(record, name)
    return process is not None and process.alive


def _stop_work(folder: ServiceFolder, record: ServiceRecord, *, wait: bool, say: Say) -> None:
    """End runs and worker while the server still takes down what becomes of them."""
    try:
        with PrefectServer(record.settings.api_url) as server, _no_new_runs(server, folder, record):
            if wait:
                _wait_for_runs(server, record, say)
            elif _alive(record, "worker"):
                _cancel_runs(server, record, say)
            if record.worker is not None:
                processes.end([record.worker], patience_seconds=_END_SECONDS)
            _end_rest(record, spare_server=True)
            report_crashed(server, record)
    except ServiceError as error:
        if wait:
            raise
        say(f"{error}; stopping without regard to it")


@contextmanager
def _no_new_runs(server: PrefectServer, folder: ServiceFolder, record: ServiceRecord) -> Iterator[None]:
    """Pause the pool; noted first, so that the next start resumes it should this process be killed in between."""
    record.pool_paused = record.pool_paused or not server.pool_paused()
    if not record.pool_paused:  # somebody paused it on purpose
        yield
        return
    folder.write(record)
    server.pause_pool(paused=True)
    try:
        yield
    finally:
        server.pause_pool(paused=False)
        record.pool_paused = False
        folder.write(record)


def _wait_for_runs(server: PrefectServer, record: ServiceRecord, say: Say) -> None:
    said = float("-inf")
    while (runs := _at_work(server, record)) or running_here(record):
        if time.monotonic() - said >= _SAY_EVERY_SECONDS:
            said = time.monotonic()
            names = ", ".join(run["name"] for run in runs) or "one that is about to end"
            say(f"waiting for runs: {names} (Ctrl-C leaves all as it is)")
        time.sleep(_POLL_SECONDS)


def _cancel_runs(server: PrefectServer, record: ServiceRecord, say: Say) -> None:
    runs = _at_work(server, record)
    if not runs:
        return
    say(f"cancelling {len(runs)} runs: {', '.join(run['name'] for run in runs)} …")
    for run in runs:
        server.set_state(run["id"], "CANCELLING", "`bigcodeflow down` stopped the service. Retry it after `up`.")
    deadline = time.monotonic() + _CANCEL_SECONDS
    while time.monotonic() < deadline and _at_work(server, record):
        time.sleep(_POLL_SECONDS)


def _at_work(server: PrefectServer, record: ServiceRecord) -> list[dict[str, Any]]:
    """Unfinished runs that have a process, or that the worker is about to give one."""
    alive, starting = running_here(record), _alive(record, "worker")
    return [
        run
        for run in server.unfinished_runs(record.worker_name)
        if run["id"] in alive or (starting and run["state_type"] == "PENDING")
    ]


def _end_rest(record: ServiceRecord, *, spare_server: bool) -> None:
    """End whatever still carries the service's mark: flow runs of a worker that died, clusters of a run that died."""
    spared = record.server if spare_server else None
    left = [process for process in processes.marked(record.mark) if process != spared]
    processes.end(left, patience_seconds=_END_SECONDS)
