"""Dask cluster that executes items: processes on this machine, an existing scheduler, or a configured cluster class.

Items are submitted one by one in a given order, and waiting for lost work ends after a limited time.
"""

import functools
import importlib
import inspect
import logging
import math
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from multiprocessing import forkserver, spawn
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from bigcodeflow.config import ClusterConfig, ExecutionConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.execution.costs import priority
from bigcodeflow.judge.items import WorkItem

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

logger = logging.getLogger(__name__)

#: Worker deaths that an item survives before it counts as lost.
_DEATHS_PER_ITEM = 10
#: Most futures that the scheduler holds at the same time; each costs about 1.7 ms of CPU in total.
_MOST_FUTURES = 2_000
#: Most running futures with which each result is fetched at once, so that a run's last items are not delayed.
_FEW_FUTURES = 64
_SETTLED = frozenset({"finished", "error", "cancelled"})
_STALL_SECONDS = 120.0
_CONNECT_SECONDS = 20
_CLUSTER_STARTS = 3
#: Cores that one worker process serves: with few processes, many samples share the same warm libraries.
CORES_PER_PROCESS = 16
_POLL_SECONDS = 0.2
#: Seconds between checks that the scheduler has workers, while no item ends.
_LIVENESS_SECONDS = 10.0
#: Seconds without a worker after which a local cluster is replaced: Dask restarts no worker that died in its start.
_LOCAL_PATIENCE_SECONDS = 60.0
_DASK_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS_PER_ITEM,
    "distributed.deploy.lost-worker-timeout": _STALL_SECONDS,
    "distributed.worker.daemon": False,
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.scheduler.worker-saturation": 1.0,  # an item stays with the scheduler until a slot is free
    # Dask's profiler of its threads and the metrics for its dashboard cost a tenth of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.system-monitor.interval": "10s",
}
#: Modules that the process from which local workers are forked imports once; the first module handles Ctrl-C.
_WORKER_IMPORTS = [
    "bigcodeflow.execution.worker_signals",
    "distributed.nanny",
    "bigcodeflow.execution.worker_plugin",
    "bigcodeflow.execution.executor",
    "bigcodeflow.judge.host.local",
]
#: HTTP pages of a local Dask cluster: none, because every user of the machine could read them.
_NO_PAGES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
#: Cores of an E2B sandbox unless its template sets another number.
_CORES_OF_CLOUD_SANDBOX = 2


class ClusterLostError(ExecutionError):
    """Error for a lost or failed connection to the scheduler; the caller may connect again and continue."""


class SchedulerSilentError(ClusterLostError):
    """Error for a scheduler address at which no scheduler answers."""


class Cluster:
    """Cluster that the execution settings name; it connects at first use, and stays connected until `close`."""

    def __init__(self, config: ExecutionConfig) -> None:
        #: Name of the plugin on the workers; unique, so that runs on the same scheduler do not remove each other's.
        self.name = f"bigcodeflow-{uuid.uuid4().hex}"
        self._config, self._held = config, ExitStack()
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._users = 0
        self._is_equipped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def client(self) -> "Iterator[Client]":
        """Yield a Dask client; an error in the block closes the client: the next call makes a new client and workers.

        If other threads use the client, only a lost connection closes it.
        """
        import dask

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        mine = self._client
        try:
            with self._lock:
                self._users += 1
                if self._client is None:
                    self._held.enter_context(dask.config.set(_DASK_SETTINGS))
                    self._client = self._connected()
                    # Not entered as a context: the thread that closes it may not be the thread that made it.
                    self._held.callback(_close, self._client)
                mine = self._client
            yield mine
        except BaseException as error:
            with self._lock:
                is_broken = self._users == 1 or isinstance(error, ClusterLostError)
                if mine is self._client and is_broken:  # another thread may have reconnected
                    self.close()
            raise
        finally:
            with self._lock:
                self._users -= 1

    def _connected(self) -> "Client":
        import dask
        from distributed import Client

        address = self._config.scheduler_address
        if not address:
            if self._config.cluster.type:
                make = _cluster_of_class(self._config.cluster)
            else:
                self._held.enter_context(dask.config.set(_NO_PAGES))
                make = _local(self._config)
            return Client(self._held.enter_context(make), set_as_default=False)
        try:
            return Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SchedulerSilentError(
                f"no Dask scheduler answers at {address} ({error}): start one, or leave execution.scheduler_address "
                "empty"
            ) from error

    def equip(self, kept: "AbstractContextManager[None]") -> None:
        """Enter the context ``kept``, which gives the workers their backends, and leave it when the cluster is closed.

        Do nothing if the workers have backends already.
        """
        with self._lock:
            if not self._is_equipped:
                self._held.enter_context(kept)
                self._is_equipped = True

    def close(self) -> None:
        """Close the connection and the workers' backends, and stop the workers that this object started."""
        with self._lock:
            self._client, self._is_equipped = None, False
            self._held.close()


def _close(client: "Client") -> None:
    """Close a client; ignore all errors, because Distributed raises errors of any kind if the scheduler was lost."""
    try:
        client.close()
    except Exception as error:  # noqa: BLE001
        logger.debug("a lost Dask client was not closed cleanly: %r", error)


def wait_for_worker(client: "Client", patience_seconds: float) -> None:
    """Wait until the cluster has a worker; raise ExecutionError if no worker joins in ``patience_seconds``."""
    deadline = time.monotonic() + patience_seconds
    if not client.nthreads():
        logger.warning("the Dask cluster has no worker yet: waiting up to %g s for a worker", patience_seconds)
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise _no_worker(patience_seconds)
        time.sleep(_POLL_SECONDS)


def _no_worker(patience_seconds: float) -> ExecutionError:
    return ExecutionError(
        f"the Dask cluster had no worker for {patience_seconds:g} s: start workers or look at the queue, or raise "
        "execution.cluster.patience_seconds; then run the same again: finished verdicts are kept"
    )


def _cluster_of_class(config: ClusterConfig) -> Any:
    """Start a cluster of the configured class, and request its jobs."""
    module, _, name = config.type.rpartition(".")
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"execution.cluster.type {config.type!r} cannot be imported ({error}): install its package (for "
            "dask_jobqueue: pip install 'bigcodeflow[clusters]')"
        ) from None
    try:
        cluster = make(**config.options)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"execution.cluster.options: {config.type} rejects the options ({' '.join(str(error).split())}): edit them"
        ) from None
    except (OSError, RuntimeError) as error:
        raise ExecutionError(
            f"a cluster {config.type} could not be started ({' '.join(str(error).split())}): check execution.cluster "
            "and the job scheduler, then run the same again"
        ) from error
    # If a class counts both jobs and workers, one job may hold several workers.
    if config.most_jobs:
        unit = "_jobs" if "minimum_jobs" in inspect.signature(cluster.adapt).parameters else ""
        cluster.adapt(**{f"minimum{unit}": config.jobs, f"maximum{unit}": config.most_jobs})
    elif "jobs" in inspect.signature(cluster.scale).parameters:
        cluster.scale(jobs=config.jobs)
    else:
        cluster.scale(config.jobs)
    return cluster


def _cores_in_use(config: ExecutionConfig) -> int:
    """Return the number of samples to compute at once: ``config.workers``, or if 0, as many as the backend allows."""
    if config.workers:
        return config.workers
    if config.backend == "e2b":
        return config.e2b.sandboxes * _CORES_OF_CLOUD_SANDBOX
    if config.backend in ("http", "gradio"):
        return max(1, config.service.concurrency // config.slots_per_worker)
    return usable_cores()


def start_fork_server(config: ExecutionConfig) -> None:
    """Start the process from which local workers are forked; return without waiting for its imports.

    Do nothing if this process runs already, or if the run starts no local workers.
    """
    if config.on_this_machine:
        forkserver.set_forkserver_preload(_WORKER_IMPORTS)
        forkserver.ensure_running()


def _local(config: ExecutionConfig) -> "LocalCluster":
    """Start a local cluster whose processes authenticate each other by a certificate kept only in memory.

    A client of a Dask scheduler can run code as the scheduler's user, and every user of the machine can connect to
    its loopback addresses. A worker that dies during its start makes the whole start fail, so the start is repeated.
    """
    start_fork_server(config)
    from distributed import LocalCluster, utils
    from distributed.security import Security

    utils._forkserver_preload_set = True  # noqa: SLF001 -- else Dask would import pandas here, in order to preload it
    _leave_main_to_its_process()
    cores = _cores_in_use(config)
    # Remote hosts belong to one process: two processes would each start as many hosts as are allowed.
    processes = math.ceil(cores / CORES_PER_PROCESS) if config.backend == "local" else 1
    for starts_left in reversed(range(_CLUSTER_STARTS)):
        try:
            return LocalCluster(
                n_workers=processes,
                threads_per_worker=math.ceil(cores / processes) * config.slots_per_worker,
                host="127.0.0.1",
                protocol="tls://",
                security=Security.temporary(),
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                env=dict(os.environ),  # that of the forked process may be older
                memory_limit=0,  # Dask does not count sandboxes as children of the worker; they have a separate limit
                silence_logs=logging.CRITICAL,
            )
        except (RuntimeError, OSError) as error:
            cause = error
            logger.warning("the local Dask cluster did not start (%s); %d more tries", error, starts_left)
    raise ExecutionError(f"the local Dask cluster did not start ({cause}): try fewer execution.workers") from cause


def _leave_main_to_its_process() -> None:
    """Prevent worker processes from importing the user's main module; multiprocessing has no setting for that.

    A script that calls the library outside of ``if __name__ == "__main__"`` would run again in each worker, and the
    worker could not start. Workers execute functions of this package only.
    """
    original = spawn.get_preparation_data
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def without_main(name: str) -> dict[str, Any]:
        data: dict[str, Any] = original(name)
        if name.startswith("Dask Worker"):
            data = {key: value for key, value in data.items() if not key.startswith("init_main")}
        return data

    spawn.get_preparation_data = without_main


def fan_out(
    client: "Client",
    work: Callable[[WorkItem], Any],
    items: Iterable[WorkItem | None],
    *,
    patience_seconds: float,
    is_local: bool = False,
) -> Iterator[tuple[WorkItem, Any, BaseException | None] | None]:
    """Submit every item; yield (item, result, error) of each item when it ends, in any order; result or error is None.

    ``items`` may arrive over time: None means that no item is ready. While no item ends, None is yielded regularly.
    Raise ExecutionError if the cluster has no worker for ``patience_seconds``. If ``is_local``, raise ClusterLostError
    after a minute without a worker, because a new local cluster has workers again.
    """
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    waiting, is_over, watch = iter(enumerate(items)), False, _Watch(client, patience_seconds, is_local=is_local)
    running: dict[Future[Any], WorkItem] = {}
    unsettled: list[Future[Any]] = []
    connection = uuid.uuid4().hex  # after a reconnect the scheduler may still be busy with keys of the old connection

    def send() -> bool:
        """Submit items until _MOST_FUTURES are running or no item is ready; return True if no more items will come."""
        while len(running) < _MOST_FUTURES:
            if (found := next(waiting, None)) is None:
                return True
            index, item = found
            if item is None:
                return False
            key = f"execute-{item.verdict_key}-{connection}"
            future = client.submit(work, item, key=key, priority=priority(item, index), pure=False)
            running[future] = item
            future.add_done_callback(ended.put)
        return False

    while running or not is_over:
        if len(running) > _FEW_FUTURES:  # the queue is long: let results collect, for one request instead of many
            time.sleep(_POLL_SECONDS)
        is_over = is_over or send()
        if not running and is_over:
            return
        taken = unsettled + _all_of(ended, _POLL_SECONDS)
        # If a worker dies before its results are fetched, the scheduler has them computed again.
        futures = [future for future in taken if future.status in _SETTLED]
        unsettled = [future for future in taken if future not in futures]
        if not futures:
            watch.check()
            yield None
            continue
        outcomes = _outcomes(client, futures)
        ended_items = [running.pop(future) for future in futures]
        del taken, futures  # the scheduler forgets futures that nobody references
        yield from ((item, *outcome) for item, outcome in zip(ended_items, outcomes, strict=True))


def _all_of(ended: "SimpleQueue[Future[Any]]", timeout_seconds: float) -> list["Future[Any]"]:
    """Wait until a future ends; return all futures that have ended, or an empty list if none ends in time."""
    futures = []
    with suppress(Empty):
        futures.append(ended.get(timeout=timeout_seconds))
        while True:
            futures.append(ended.get_nowait())
    return futures


def _outcomes(client: "Client", futures: "list[Future[Any]]") -> list[tuple[Any, BaseException | None]]:
    """Return (result, None) or (None, error) of each ended future; raise ClusterLostError if any is cancelled."""
    states = [future.status for future in futures]
    if "cancelled" in states:
        raise _lost(client)
    finished = [future for future, state in zip(futures, states, strict=True) if state != "error"]
    try:
        results = dict(zip(finished, client.gather(finished), strict=True))
    except CancelledError:  # the scheduler was lost meanwhile
        raise _lost(client) from None
    return [(results[one], None) if one in results else (None, one.exception()) for one in futures]


class _Watch:
    """Watchdog that ends the waiting for items when the scheduler is lost or has no workers."""

    def __init__(self, client: "Client", patience_seconds: float, *, is_local: bool = False) -> None:
        self._client, self._patience_seconds, self._is_local = client, patience_seconds, is_local
        self._worker_seen = self._asked = time.monotonic()

    def check(self) -> None:
        """Raise an error if the scheduler is lost, or has had no worker for too long."""
        if self._client.status in ("closing", "closed"):
            raise _lost(self._client)
        if time.monotonic() - self._asked < _LIVENESS_SECONDS:
            return
        with suppress(OSError, TimeoutError):  # a scheduler that does not answer counts as one without workers
            if self._client.nthreads():
                self._worker_seen = time.monotonic()
        self._asked = time.monotonic()
        if self._is_local and self._asked - self._worker_seen > _LOCAL_PATIENCE_SECONDS:
            raise ClusterLostError(
                "all workers on this machine ended and do not start again: set fewer execution.workers to save memory"
            )
        if self._asked - self._worker_seen > self._patience_seconds:
            raise _no_worker(self._patience_seconds)


def _lost(client: "Client") -> ClusterLostError:
    address = client.scheduler.address if client.scheduler else "its address"
    return ClusterLostError(
        f"the connection to the Dask scheduler at {address} was lost: check that it runs and can be reached, then run "
        "the same again; finished verdicts are kept"
    )
