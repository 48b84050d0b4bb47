"""Dask worker plugin: checks each worker, and keeps its backend and its logged warnings from item to item.

A worker's standard error is a file on some machine, and Dask's threads belong to no Prefect run. So warnings are
returned with verdicts, and the thread that waits for the verdicts logs them. Import this module only if there are items
to execute: Dask takes long to load.
"""

import logging
import pkgutil
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from distributed import Client, Worker, WorkerPlugin, get_worker

import bigcodeflow
from bigcodeflow.core.errors import BigCodeFlowError, EnvironmentUnusableError
from bigcodeflow.execution.executor import Executor
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.reruns import RerunPolicy
from bigcodeflow.judge.items import WorkItem, code_version, require_code
from bigcodeflow.judge.verdicts import Verdict

if TYPE_CHECKING:
    from bigcodeflow.judge.host.base import Backend

_LIBRARY = logging.getLogger("bigcodeflow")
#: Most warnings of one worker that are kept between two verdicts; the latest are kept.
_MOST_WARNINGS = 100
_REPLAYED = "replayed"


class WorkerLogRelay(logging.Handler):
    """Log handler that keeps warnings of bigcodeflow in this process until `taken` is called."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._messages: deque[str] = deque(maxlen=_MOST_WARNINGS)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning; skip warnings from ``replay``, which arrive here if run and worker share a process."""
        if not hasattr(record, _REPLAYED):
            self._messages.append(record.getMessage())

    def taken(self) -> list[str]:
        """Return and remove the kept warnings; concurrent callers never get the same warning."""
        messages = []
        with suppress(IndexError):
            while True:
                messages.append(self._messages.popleft())
        return messages


def replay(warnings: Iterable[str]) -> None:
    for warning in warnings:
        _LIBRARY.warning("%s", warning, extra={_REPLAYED: True})


class BackendPlugin(WorkerPlugin):
    """Dask plugin that gives a worker process a backend, which all its threads share and which ends with the worker."""

    idempotent = True

    def __init__(self, name: str, executor: Executor) -> None:
        self.name, self._executor = name, executor
        self._code_version = code_version()
        self._backend: Backend | None = None
        self._ledgers: dict[Path, Ledger] = {}
        self._refusal: BigCodeFlowError | None = None
        self._relay: WorkerLogRelay | None = None

    def setup(self, worker: Worker) -> None:
        """Make the backend; nothing is started before the first item.

        Dask reports an error of this method to the caller that registers the plugin. For workers that join later, no
        caller gets the error, so the error is kept, and ``execute`` raises it.
        """
        self._relay = WorkerLogRelay()
        _LIBRARY.addHandler(self._relay)
        try:
            require_code(self._code_version)
            self._backend = self._executor.backend_of_worker(worker.state.nthreads)
        except BigCodeFlowError as error:
            self._refusal = error
            raise

    def execute(self, item: WorkItem, policy: RerunPolicy, ledger_folder: Path) -> Verdict:
        """Return the verdict of an item, or raise the reason why this worker cannot execute items."""
        if self._backend is None:
            raise self._refusal or RuntimeError("the Dask worker's plugin is not set up: restart the worker")
        ledger = self._ledgers.setdefault(ledger_folder, Ledger(ledger_folder))
        return self._executor.run(item, policy, self._backend, ledger)

    def under_way(self) -> Mapping[str, float]:
        """Return the seconds since each running execution of this worker began, by verdict key."""
        return self._backend.under_way() if self._backend else {}

    def warnings(self) -> list[str]:
        """Return the warnings of this worker since the last call."""
        return self._relay.taken() if self._relay else []

    def close(self) -> list[str]:
        """Close the backend; return the last warnings, including warnings about the backend's costs."""
        if self._backend:
            self._backend.close()
        return self.warnings()

    def teardown(self, worker: Worker) -> None:
        del worker
        self.close()
        if self._relay:
            _LIBRARY.removeHandler(self._relay)


def execute_item(name: str, ledger_folder: Path, policy: RerunPolicy, item: WorkItem) -> tuple[Verdict, list[str]]:
    """Execute an item as a Dask task with the worker's plugin ``name``; return the verdict and new warnings."""
    plugin = cast("BackendPlugin", get_worker().plugins[name])
    return plugin.execute(item, policy, ledger_folder), plugin.warnings()


def under_way_here(name: str, dask_worker: Worker) -> Mapping[str, float]:
    """Return ``BackendPlugin.under_way`` of the plugin ``name`` on ``dask_worker``, which `Client.run` passes."""
    plugin = dask_worker.plugins.get(name)
    return plugin.under_way() if isinstance(plugin, BackendPlugin) else {}


def close_backend(name: str, dask_worker: Worker) -> list[str]:
    """Close the backend of the plugin ``name`` on ``dask_worker``, passed by `Client.run`; return its last warnings."""
    plugin = dask_worker.plugins.get(name)
    return plugin.close() if isinstance(plugin, BackendPlugin) else []


def require_package(client: Client) -> None:
    """Raise EnvironmentUnusableError if a worker cannot import bigcodeflow, and so cannot unpickle its Dask tasks."""
    found = client.run(pkgutil.resolve_name, "bigcodeflow:__version__", on_error="return")
    for worker, version in found.items():
        if isinstance(version, ImportError):
            raise EnvironmentUnusableError(
                f"worker at {worker} cannot import bigcodeflow ({version}): install version {bigcodeflow.__version__} "
                "there and restart the worker"
            )
