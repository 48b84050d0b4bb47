"""The Dask cluster that executes: processes of this machine, a scheduler that is there, or any cluster class.

Items go through it one by one in a given order, and waiting for what is lost has an end.
"""

import functools
import importlib
import inspect
import logging
import math
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from multiprocessing import spawn
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from bigcodeflow.config import ClusterConfig, ExecutionConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.execution.items import WorkItem

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

logger = logging.getLogger(__name__)

#: Worker deaths that one item survives before it is given up as lost.
_DEATHS_PER_ITEM = 10
#: What the scheduler holds at most; each costs about 1.7 ms of CPU in all.
_MOST_FUTURES = 2_000
_STALL_SECONDS = 120.0
_CONNECT_SECONDS = 20
_CLUSTER_STARTS = 3
#: Cores that one worker process serves: few processes share the libraries that they keep warm among many samples.
_CORES_PER_PROCESS = 16
_POLL_SECONDS = 0.2
#: How often the scheduler is asked for its workers while no item ends.
_LIVENESS_SECONDS = 10.0
_DASK_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS_PER_ITEM,
    "distributed.deploy.lost-worker-timeout": _STALL_SECONDS,
    "distributed.worker.daemon": False,
    "distributed.scheduler.worker-saturation": 1.0,  # an item stays with the scheduler until a slot is free
    # Dask's own sampling of its threads, and what feeds its dashboard, cost a tenth of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.system-monitor.interval": "10s",
}
#: Dask pages of a local cluster: none, since every user of the machine could read them.
_NO_PAGES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
#: What E2B gives a sandbox unless its template says otherwise.
_CORES_OF_CLOUD_SANDBOX = 2


class ClusterLostError(ExecutionError):
    """The connection to the scheduler broke, or could not be made; whoever connects again can go on."""


class SchedulerSilentError(ClusterLostError):
    """No scheduler answers at the address."""


class Cluster:
    """The cluster that a configuration names: connected to when it is first needed, and kept until it is closed."""

    def __init__(self, config: ExecutionConfig) -> None:
        #: Under which workers keep what this stage needs; runs that share a scheduler do not end one another's.
        self.name = f"bigcodeflow-{uuid.uuid4().hex}"
        self._config, self._held = config, ExitStack()
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._is_equipped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def client(self) -> "Iterator[Client]":
        """A client; after an error within the block the next one is of a new connection, and of new local workers."""
        import dask

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        mine = self._client
        try:
            with self._lock:
                if self._client is None:
                    self._held.enter_context(dask.config.set(_DASK_SETTINGS))
                    self._client = self._connected()
                    # Not entered as a context, since another thread may close it than the one that made it.
                    self._held.callback(self._client.close)
                mine = self._client
            yield mine
        except BaseException:
            with self._lock:
                if mine is self._client:  # another thread may have connected anew meanwhile
                    self.close()
            raise

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
        """Give the workers what they keep until this is closed, unless they have it already."""
        with self._lock:
            if not self._is_equipped:
                self._held.enter_context(kept)
                self._is_equipped = True

    def close(self) -> None:
        """End the connection, what the workers keep, and the workers that were started for it."""
        with self._lock:
            self._client, self._is_equipped = None, False
            self._held.close()


def wait_for_worker(client: "Client", patience_seconds: float) -> None:
    """Return once the cluster has a worker; or ExecutionError."""
    deadline = time.monotonic() + patience_seconds
    if not client.nthreads():
        logger.warning("the cluster has no worker yet: waiting up to %g s for one", patience_seconds)
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise _no_worker(patience_seconds)
        time.sleep(_POLL_SECONDS)


def _no_worker(patience_seconds: float) -> ExecutionError:
    return ExecutionError(
        f"the Dask cluster had no worker for {patience_seconds:g} s: start workers or look at the queue, or raise "
        "execution.cluster.patience_seconds; finished verdicts are kept, run the same again"
    )


def _cluster_of_class(config: ClusterConfig) -> Any:
    """A cluster of the class that the configuration names, with its jobs asked for."""
    module, _, name = config.type.rpartition(".")
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"execution.cluster.type {config.type!r} cannot be imported ({error}): install its package, for "
            "dask_jobqueue pip install 'bigcodeflow[clusters]'"
        ) from None
    try:
        cluster = make(**config.options)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"execution.cluster.options: {config.type} does not take them ({' '.join(str(error).split())})"
        ) from None
    except (OSError, RuntimeError) as error:
        raise ExecutionError(f"a {config.type} could not be started ({' '.join(str(error).split())})") from error
    # Where a class counts both jobs and workers, one job may hold several workers.
    if config.most_jobs:
        unit = "_jobs" if "minimum_jobs" in inspect.signature(cluster.adapt).parameters else ""
        cluster.adapt(**{f"minimum{unit}": config.jobs, f"maximum{unit}": config.most_jobs})
    elif "jobs" in inspect.signature(cluster.scale).parameters:
        cluster.scale(jobs=config.jobs)
    else:
        cluster.scale(config.jobs)
    return cluster


def _cores_in_use(config: ExecutionConfig) -> int:
    """Samples that are to compute at the same time, as seen from this machine."""
    if config.workers:
        return config.workers
    if config.backend == "e2b":
        return config.e2b.sandboxes * _CORES_OF_CLOUD_SANDBOX
    if config.backend in ("http", "gradio"):
        return max(1, config.service.concurrency // config.slots_per_worker)
    return usable_cores()


def _local(config: ExecutionConfig) -> "LocalCluster":
    """Start a local cluster whose processes know one another by a certificate that no file holds.

    Whoever connects to a Dask scheduler runs code as its user, and every user of the machine can connect to its
    loopback addresses. A worker that dies while it starts fails the whole start, so that is tried again.
    """
    from distributed import LocalCluster
    from distributed.security import Security

    _leave_main_to_its_process()
    cores = _cores_in_use(config)
    # Hosts elsewhere are one process's: two would each start as many as the configuration allows.
    processes = math.ceil(cores / _CORES_PER_PROCESS) if config.backend == "local" else 1
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
                memory_limit=0,  # sandboxes are not the worker's children in Dask's eyes; their own limit holds
                silence_logs=logging.CRITICAL,
            )
        except (RuntimeError, OSError) as error:
            cause = error
            logger.warning("the local Dask cluster did not start (%s); %d more tries", error, starts_left)
    raise ExecutionError(f"the local Dask cluster did not start ({cause}): fewer execution.workers may help") from cause


def _leave_main_to_its_process() -> None:
    """Keep worker processes from importing the main module; multiprocessing has no setting for that.

    A script that calls the library outside of ``if __name__ == "__main__"`` would run again in each worker, which fails
    their start. What they execute are functions of this package.
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
    client: "Client", work: Callable[[WorkItem], Any], items: Iterable[WorkItem | None], *, patience_seconds: float
) -> Iterator[tuple[WorkItem, Any, BaseException | None] | None]:
    """Have every item worked on, and yield each as it ends, in any order, with its result and what it failed with.

    ``items`` may come by and by: None says that there is none now. None is yielded now and then while none ends.
    """
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    waiting, is_over, watch = iter(enumerate(items)), False, _Watch(client, patience_seconds)
    running: dict[Future[Any], WorkItem] = {}
    connection = uuid.uuid4().hex  # after a lost connection the scheduler may still be busy with keys of the former one

    def send() -> bool:
        """Submit what there is room for; whether nothing more will come."""
        while len(running) < _MOST_FUTURES:
            if (found := next(waiting, None)) is None:
                return True
            index, item = found
            if item is None:
                return False
            key = f"execute-{item.verdict_key}-{connection}"
            future = client.submit(work, item, key=key, priority=-index, pure=False)
            running[future] = item
            future.add_done_callback(ended.put)
        return False

    while running or not is_over:
        is_over = is_over or send()
        if not running and is_over:
            return
        try:
            future = ended.get(timeout=_POLL_SECONDS)
        except Empty:
            watch.check()
            yield None
            continue
        item = running.pop(future)
        if future.status in ("cancelled", "lost"):
            raise _lost(client)
        error = None if future.status == "finished" else future.exception()
        yield item, future.result() if error is None else None, error
        del future  # the scheduler forgets what nobody holds


class _Watch:
    """Sees to it that waiting for what will not come has an end."""

    def __init__(self, client: "Client", patience_seconds: float) -> None:
        self._client, self._patience_seconds = client, patience_seconds
        self._worker_seen = self._asked = time.monotonic()

    def check(self) -> None:
        """Raise where the scheduler is lost, or has had no worker for longer than the patience."""
        if self._client.status in ("closing", "closed"):
            raise _lost(self._client)
        if time.monotonic() - self._asked < _LIVENESS_SECONDS:
            return
        with suppress(OSError, TimeoutError):  # a scheduler that does not answer counts as one without workers
            if self._client.nthreads():
                self._worker_seen = time.monotonic()
        self._asked = time.monotonic()
        if self._asked - self._worker_seen > self._patience_seconds:
            raise _no_worker(self._patience_seconds)


def _lost(client: "Client") -> ClusterLostError:
    address = client.scheduler.address if client.scheduler else "its address"
    return ClusterLostError(
        f"the connection to the Dask scheduler at {address} was lost: see that it runs and can be reached, then run "
        "the same again; finished verdicts are kept"
    )
