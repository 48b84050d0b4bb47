"""The Dask cluster that executes: processes of this machine, a scheduler that is there, or any cluster class.

Batches go through it few at a time, longest first, and waiting for what is lost has an end.
"""

import functools
import importlib
import inspect
import logging
import math
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing import spawn
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from bigcodeflow.config import ClusterConfig, ExecutionConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError
from bigcodeflow.execution.items import MOST_BATCHES, Batch, WorkItem

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

logger = logging.getLogger(__name__)

#: Worker deaths that one batch survives before it is given up as lost.
_DEATHS_PER_BATCH = 10
_STALL_SECONDS = 120.0
_CONNECT_SECONDS = 20
_CLUSTER_STARTS = 3
#: Cores that one worker process serves: few processes share the libraries that they keep warm among many samples.
_CORES_PER_PROCESS = 16
_POLL_SECONDS = 0.2
#: How often the scheduler is asked for its workers while no batch ends.
_LIVENESS_SECONDS = 10.0
_DASK_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS_PER_BATCH,
    "distributed.deploy.lost-worker-timeout": _STALL_SECONDS,
    "distributed.worker.daemon": False,
    "distributed.scheduler.worker-saturation": 1.0,  # a batch stays with the scheduler until a slot is free
    # Dask's own sampling of its threads, and what feeds its dashboard, cost a tenth of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.system-monitor.interval": "10s",
}
#: A round with more items than so many times those of the round that zygotes were planned for gets a plan of its own.
_LARGER_ROUND = 2
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
        self._client: Client | None = None
        self._is_equipped = False
        self._zygotes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._planned_items = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def client(self) -> "Iterator[Client]":
        """A client; after an error within the block the next one is of a new connection, and of new local workers."""
        import dask

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            if self._client is None:
                self._held.enter_context(dask.config.set(_DASK_SETTINGS))
                self._client = self._held.enter_context(self._connected())
            yield self._client
        except BaseException:
            self.close()
            raise

    def _connected(self) -> "Client":
        from distributed import Client

        address = self._config.scheduler_address
        if not address:
            make = _cluster_of_class(self._config.cluster) if self._config.cluster.type else _local(self._config)
            return Client(self._held.enter_context(make))
        try:
            return Client(address, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise SchedulerSilentError(
                f"no Dask scheduler answers at {address} ({error}): start one, or leave execution.scheduler_address "
                "empty"
            ) from error

    def equip(self, kept: "AbstractContextManager[None]") -> None:
        """Give the workers what they keep until this is closed, unless they have it already."""
        if not self._is_equipped:
            self._held.enter_context(kept)
            self._is_equipped = True

    def with_kept_zygotes(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items, forked from the zygotes of a former round where it had items with the same imports.

        Each set of zygotes is planned for the items of one round; a second set costs workers its imports once more,
        which pays only for a much larger round.
        """
        if len(items) > _LARGER_ROUND * self._planned_items:
            self._zygotes, self._planned_items = {item.preload: item.zygote for item in items}, len(items)
        return [replace(item, zygote=self._zygotes.get(item.preload, item.zygote)) for item in items]

    def close(self) -> None:
        """End the connection, what the workers keep, and the workers that were started for it."""
        self._client, self._is_equipped = None, False
        self._held.close()


def slots_of(client: "Client", patience_seconds: float) -> int:
    """Executions that the cluster's workers can run at the same time, once there is a worker; or ExecutionError."""
    deadline = time.monotonic() + patience_seconds
    if not client.nthreads():
        logger.warning("the cluster has no worker yet: waiting up to %g s for one", patience_seconds)
    while not (slots := sum(int(count) for count in client.nthreads().values())):
        if time.monotonic() > deadline:
            raise _no_worker(patience_seconds)
        time.sleep(_POLL_SECONDS)
    return slots


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
    return len(os.sched_getaffinity(0))


def _local(config: ExecutionConfig) -> "LocalCluster":
    """A local cluster; a worker that dies while it starts fails the whole start, so that is tried again."""
    from distributed import LocalCluster

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
                dashboard_address="127.0.0.1:0",
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
    client: "Client", work: Callable[[Batch], Any], batches: Sequence[Batch], *, patience_seconds: float
) -> Iterator[tuple[Batch, Any, BaseException | None]]:
    """Have every batch worked on, and yield each as it ends, in any order, with its result and what it failed with."""
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    waiting = iter(enumerate(batches))
    running: dict[Future[Any], Batch] = {}
    connection = uuid.uuid4().hex  # after a lost connection the scheduler may still be busy with keys of the former one

    def send(count: int) -> None:
        for _, (index, batch) in zip(range(count), waiting, strict=False):
            key = f"execute-{batch.name}-{connection}"
            future = client.submit(work, batch, key=key, priority=-index, pure=False)
            running[future] = batch
            future.add_done_callback(ended.put)

    send(MOST_BATCHES)
    while running:
        future = _next(ended, client, patience_seconds)
        batch = running.pop(future)
        if future.status in ("cancelled", "lost"):
            raise _lost(client)
        error = None if future.status == "finished" else future.exception()
        yield batch, future.result() if error is None else None, error
        del future  # the scheduler forgets what nobody holds
        send(1)


def _next(ended: "SimpleQueue[Future[Any]]", client: "Client", patience_seconds: float) -> "Future[Any]":
    worker_seen = time.monotonic()
    while True:
        with suppress(Empty):
            return ended.get(timeout=_LIVENESS_SECONDS)
        if client.status in ("closing", "closed"):
            raise _lost(client)
        with suppress(OSError, TimeoutError):  # a scheduler that does not answer counts as one without workers
            if client.nthreads():
                worker_seen = time.monotonic()
        if time.monotonic() - worker_seen > patience_seconds:
            raise _no_worker(patience_seconds)


def _lost(client: "Client") -> ClusterLostError:
    address = client.scheduler.address if client.scheduler else "its address"
    return ClusterLostError(
        f"the connection to the Dask scheduler at {address} was lost: see that it runs and can be reached, then run "
        "the same again; finished verdicts are kept"
    )
