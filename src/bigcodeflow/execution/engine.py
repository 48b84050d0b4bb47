"""Fans batches out over Dask and sees to it that every item gets its verdict, whatever dies on the way."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.errors import BigCodeFlowError, ExecutionError
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.ledger import LedgerWriter, final_keys, read_ledger
from bigcodeflow.execution.planning import Batch, plan_batches
from bigcodeflow.execution.verdicts import lost_verdict, verdict, worth_repeating

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with items finished and items in all."""

#: Executions after which a kill from nowhere is taken for the program's own doing.
_ATTEMPTS = 5
_CONFIRMATIONS = 2
#: Worker deaths that one batch survives before it is given up as lost.
_DEATHS_PER_BATCH = 10
_STALL_SECONDS = 120.0
_CONNECT_SECONDS = 20
_CLUSTER_STARTS = 3


@dataclass(frozen=True, slots=True)
class Executor:
    """What a worker needs to execute a batch; small, picklable, and the same for the whole stage."""

    config: ExecutionConfig
    environment: InstalledEnvironment
    ledger_folder: Path
    isolated: bool = True
    confirm_failures: bool = False
    """Execute what failed again before it counts: right for ground truths, whose failure accuses the task."""

    def run(self, batch: Batch) -> int:
        """Execute what the ledger does not yet hold of a batch, and return how many items were executed."""
        finished = final_keys(read_ledger(self.ledger_folder, batch.name))
        todo = [item for item in batch.items if item.verdict_key not in finished]
        writer = LedgerWriter(self.ledger_folder, batch.name)
        backend = self.backend()
        for item in todo:
            writer.append(self.judge(backend, item))
        return len(todo)

    def backend(self) -> Backend:
        """The backend that the configuration names."""
        return LocalBackend(self.environment, self.config.limits, isolated=self.isolated)

    def judge(self, backend: Backend, item: WorkItem) -> dict[str, Any]:
        """The verdict of one item; where failures are to be confirmed, one that passes again is flaky."""
        first = self.execute(backend, item)
        if not (self.confirm_failures and is_unconfirmed_failure(first)):
            return first
        for attempt in range(1, _CONFIRMATIONS + 1):
            again = self.execute(backend, item)
            if again["status"] == "pass":
                return again | {"flaky": True, "attempts": first["attempts"] + attempt}
        return first | {"flaky": False, "attempts": first["attempts"] + _CONFIRMATIONS}

    def execute(self, backend: Backend, item: WorkItem) -> dict[str, Any]:
        """The verdict of one execution; one that was disturbed from outside is repeated."""
        outcome, attempts = backend.execute(item), 1
        while worth_repeating(outcome) and attempts < _ATTEMPTS:
            outcome, attempts = backend.execute(item), attempts + 1
        sha = self.environment.environment_sha
        return verdict(item, outcome, backend=backend.name, environment_sha=sha, attempts=attempts)


def is_unconfirmed_failure(verdict: dict[str, Any]) -> bool:
    """Whether a verdict says that a program fails, after one execution only."""
    return verdict["status"] in ("fail", "crash") and verdict["flaky"] is None


def execute_items(
    items: Sequence[WorkItem],
    *,
    config: ExecutionConfig,
    environment: InstalledEnvironment,
    ledger_folder: Path,
    confirm_failures: bool = False,
    progress: Progress | None = None,
) -> None:
    """Execute every item on Dask; each verdict is in the ledger folder when this returns.

    Raises:
        SandboxUnavailableError: the isolation that the configuration asks for cannot be had.
        ExecutionError: the cluster could not be reached, or was lost for good.
    """
    if not items:
        return
    executor = Executor(config, environment, ledger_folder, confirm_failures=confirm_failures)
    capabilities = executor.backend().check(allow_unisolated=config.allow_unisolated)
    executor = replace(executor, isolated=capabilities.isolated)
    with _client(config) as client:
        slots = max(1, sum(client.nthreads().values()))
        batches = plan_batches(items, slots)
        _run_batches(client, executor, batches, progress or (lambda _done, _all: None))


def _run_batches(client: "Client", executor: Executor, batches: list[Batch], progress: Progress) -> None:
    from distributed import as_completed

    total = sum(len(batch.items) for batch in batches)
    futures = {
        client.submit(executor.run, batch, key=f"execute-{batch.name}", priority=-index, pure=False): batch
        for index, batch in enumerate(batches)
    }
    finished = 0
    progress(0, total)
    for future in as_completed(futures):
        batch = futures[future]
        if future.status != "finished":
            _give_up(executor, batch, future.exception())
        finished += len(batch.items)
        progress(finished, total)


def _give_up(executor: Executor, batch: Batch, error: BaseException | None) -> None:
    """Record what is left of a batch that its workers did not survive, so that the others still count."""
    from distributed import KilledWorker

    if isinstance(error, BigCodeFlowError):
        raise error
    if not isinstance(error, KilledWorker):
        raise ExecutionError(f"batch {batch.name} failed on its worker: {error!r}") from error
    finished = final_keys(read_ledger(executor.ledger_folder, batch.name))
    writer = LedgerWriter(executor.ledger_folder, batch.name)
    for item in batch.items:
        if item.verdict_key not in finished:
            sha = executor.environment.environment_sha
            writer.append(lost_verdict(item, "worker lost", backend=executor.config.backend, environment_sha=sha))


@contextmanager
def _client(config: ExecutionConfig) -> Iterator["Client"]:
    import dask
    from distributed import Client

    settings = {
        "distributed.scheduler.allowed-failures": _DEATHS_PER_BATCH,
        "distributed.deploy.lost-worker-timeout": _STALL_SECONDS,
        "distributed.worker.daemon": False,
        "distributed.scheduler.worker-saturation": 1.0,  # a batch stays with the scheduler until a slot is free
    }
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set(settings):
        if config.scheduler_address:
            with _connected(config.scheduler_address) as client:
                yield client
        else:
            with _started(config) as cluster, Client(cluster) as client:
                yield client


def _connected(address: str) -> "Client":
    from distributed import Client

    try:
        return Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ExecutionError(
            f"no Dask scheduler answers at {address} ({error}): start one, or leave execution.scheduler_address empty"
        ) from error


def _started(config: ExecutionConfig) -> "LocalCluster":
    """A local cluster; a worker that dies while it starts fails the whole start, so that is tried again."""
    from distributed import LocalCluster

    for starts_left in reversed(range(_CLUSTER_STARTS)):
        try:
            return LocalCluster(
                n_workers=config.workers or os.cpu_count() or 1,
                threads_per_worker=config.slots_per_worker,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=0,  # sandboxes are not the worker's children in Dask's eyes; their own limit holds
                silence_logs=logging.CRITICAL,
            )
        except (RuntimeError, OSError) as error:
            cause = error
            logger.warning("the local Dask cluster did not start (%s); %d more tries", error, starts_left)
    raise ExecutionError(f"the local Dask cluster did not start ({cause}): fewer execution.workers may help") from cause
