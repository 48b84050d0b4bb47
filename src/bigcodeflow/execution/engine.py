"""Fans batches out over Dask and sees to it that every item gets its verdict, whatever dies on the way."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError, SandboxUnavailableError
from bigcodeflow.environments import Environment, InstalledEnvironment
from bigcodeflow.execution.backend_registry import make_backend
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.cluster import (
    Cluster,
    ClusterLostError,
    SchedulerSilentError,
    cores_of_process,
    slots_of,
)
from bigcodeflow.execution.fanout import fan_out
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.ledger import LedgerWriter, read_ledger
from bigcodeflow.execution.planning import Batch, plan_batches
from bigcodeflow.execution.reruns import ONCE, RerunPolicy
from bigcodeflow.execution.verdicts import lost_verdict, verdict, worth_repeating
from bigcodeflow.execution.worker_log_relay import repeat
from bigcodeflow.execution.worker_preflight import environment_here, require_package

if TYPE_CHECKING:
    from distributed import Client

    from bigcodeflow.execution.worker_plugin import Keeping

logger = logging.getLogger(__name__)

Verdict = dict[str, Any]

Progress = Callable[[int, int], None]
"""Called with items finished and items in all."""

#: Executions after which a kill from nowhere is taken for the program's own doing.
_ATTEMPTS = 5
#: Times that a cluster is connected to while one stage is executed.
_CONNECTIONS = 4
#: Name of the ledger's file in which the driver writes what workers returned.
_DRIVER = "driver"


@dataclass(frozen=True, slots=True)
class Executor:
    """What a worker needs to execute a batch; small, picklable, and the same for the whole stage."""

    config: ExecutionConfig
    environment: Environment
    ledger_folder: Path
    isolated: bool = True
    policy: RerunPolicy = ONCE
    """What is executed more than once."""
    writes_ledger: bool = True
    """Workers write the ledger themselves: the moment a verdict stands, it survives the end of the whole run. False
    where they may not share the folder: then the driver writes what they return, one item at a time."""
    name: str = ""
    """Of what workers keep, as ``Cluster.name``."""

    def run(self, batch: Batch) -> "BatchReport":
        """Execute what is still open of a batch; what came of it that is not in the ledger."""
        kept = self.kept()
        if not self.writes_ledger:
            return BatchReport([self.judge(kept.backend, item) for item in batch.items], kept.warnings())
        written = read_ledger(self.ledger_folder, batch.name)
        finished = {line["verdict_key"] for line in written if self.policy.settles(line)}
        todo = [item for item in batch.items if item.verdict_key not in finished]
        writer = LedgerWriter(self.ledger_folder, batch.name)
        for item in todo:
            writer.append(self.judge(kept.backend, item))
        return BatchReport([], kept.warnings())

    def backend(self, slots: int = 1) -> Backend:
        """The backend that the configuration names, for a worker process with so many slots."""
        cores = cores_of_process(self.config, slots)
        return make_backend(self.config, self.environment, cores=cores, isolated=self.isolated)

    def hosted_backend(self, slots: int) -> Backend:
        """The backend of a worker on another machine: with what this machine has, and what can be had here.

        Raises:
            EnvironmentUnusableError: the environment is not here.
            SandboxUnavailableError: the isolation that the configuration asks for cannot be had here.
        """
        if not isinstance(self.environment, InstalledEnvironment):
            return self.backend(slots)  # it lies where the backend is, whichever machine asks
        return checked(replace(self, environment=environment_here(self.environment))).backend(slots)

    def kept(self) -> "Keeping":
        """What the worker process that this runs in keeps for this stage."""
        from distributed import get_worker

        return cast("Keeping", get_worker().plugins[self.name])

    def judge(self, backend: Backend, item: WorkItem) -> dict[str, Any]:
        """The verdict of one item, after as many executions as the policy asks for."""
        executions = [self.execute(backend, item)]
        while self.policy.wants_another(executions):
            executions.append(self.execute(backend, item))
        return self.policy.settled(executions)

    def execute(self, backend: Backend, item: WorkItem) -> dict[str, Any]:
        """The verdict of one execution; one that was disturbed from outside is repeated."""
        outcome, attempts = backend.execute(item), 1
        while worth_repeating(outcome) and attempts < _ATTEMPTS:
            outcome, attempts = backend.execute(item), attempts + 1
        name, sha = outcome.backend or backend.name, outcome.environment_sha or self.environment.environment_sha
        return verdict(item, outcome, backend=name, environment_sha=sha, attempts=attempts)


class BatchReport(NamedTuple):
    """What a worker sends home of a batch."""

    verdicts: list[Verdict]
    """Those that are not in the ledger yet."""
    warnings: list[str]
    """What it warned of meanwhile."""


def execute_items(
    items: Sequence[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    policy: RerunPolicy = ONCE,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> None:
    """Execute every item on Dask; each verdict is in the ledger folder when this returns.

    Args:
        items: what is to be executed.
        config: how.
        environment: where.
        ledger_folder: of the stage.
        policy: what is executed more than once.
        progress: told how many items are finished.
        cluster: one that is kept for what follows; without it one is started and ended here.

    Raises:
        SandboxUnavailableError: the isolation that the configuration asks for cannot be had.
        ExecutionError: the cluster could not be reached, or was lost for good.
    """
    if not items:
        return
    counted = _Counted(len(items), progress)
    with ExitStack() as held:
        connected = cluster or held.enter_context(Cluster(config))
        executor = Executor(
            config,
            environment,
            ledger_folder,
            policy=policy,
            writes_ledger=config.on_this_machine,
            name=connected.name,
        )
        pool = held.enter_context(ThreadPoolExecutor(1, "prepare"))  # a cluster takes seconds to start, mostly waiting
        prepared = pool.submit(_prepared, executor, items)
        for connection in range(1, _CONNECTIONS + 1):
            try:
                with connected.client() as client:
                    executor, items = prepared.result()
                    _run(connected, client, executor, counted.still_open(executor, items), counted)
                break
            except (ClusterLostError, SchedulerSilentError) as error:
                mistyped = connection == 1 and isinstance(error, SchedulerSilentError)
                if mistyped or connection == _CONNECTIONS:
                    raise
                logger.warning("%s; connecting again", error)


class _Counted:
    """Progress over several connections: what a former one finished is not done again."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = total, progress or (lambda _done, _all: None)
        self._finished = 0
        self._connections = 0

    def still_open(self, executor: Executor, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """What no connection has finished; on the first one all, since a ledger that is read costs time."""
        self._connections += 1
        if self._connections > 1:
            lines = read_ledger(executor.ledger_folder)
            settled = {line["verdict_key"] for line in lines if executor.policy.settles(line)}
            items = [item for item in items if item.verdict_key not in settled]
        self._finished = self._total - len(items)
        self.add(0)
        return items

    def add(self, count: int) -> None:
        """So many items more are finished."""
        self._finished += count
        self._progress(self._finished, self._total)


def _prepared(executor: Executor, items: Sequence[WorkItem]) -> tuple[Executor, Sequence[WorkItem]]:
    """What workers on this machine are to use; those elsewhere look for themselves, and this machine need not judge."""
    backend = executor.backend()
    try:
        here = _adapted(executor, backend)
        items = backend.prepare(items)
    except SandboxUnavailableError:
        if executor.writes_ledger:
            raise
        return executor, items
    finally:
        backend.close()
    return here if executor.writes_ledger else executor, items


def _run(
    connected: Cluster, client: "Client", executor: Executor, items: Sequence[WorkItem], counted: _Counted
) -> None:
    from distributed.comm.core import CommClosedError

    if not items:
        return
    patience_seconds = executor.config.cluster.patience_seconds
    try:
        slots = slots_of(client, patience_seconds)
        require_package(client)
        batches = plan_batches(connected.with_kept_zygotes(items), slots, alone=not executor.writes_ledger)
        connected.equip(_backends_kept(client, executor))
        _run_batches(client, executor, batches, counted)
    except CommClosedError as error:
        raise ClusterLostError(f"the Dask scheduler does not answer ({error}): run the same again") from error


@contextmanager
def _backends_kept(client: "Client", executor: Executor) -> Iterator[None]:
    """Give every worker, also one that joins later, its backend; taken from all of them in the end."""
    from distributed.comm.core import CommClosedError

    from bigcodeflow.execution.worker_plugin import Keeping, end_kept

    make = executor.backend if executor.writes_ledger else executor.hosted_backend
    try:
        client.register_plugin(Keeping(executor.name, make))
        yield
    finally:
        # A cluster that is gone keeps nothing, nor does a worker that could not set up; the caller has to hear why.
        with suppress(CommClosedError, KeyError):
            for warnings in client.run(end_kept, executor.name, on_error="ignore").values():
                repeat(warnings)
            client.unregister_worker_plugin(executor.name)


def checked(executor: Executor) -> Executor:
    """The executor with the isolation and the start that can be had here.

    Raises:
        SandboxUnavailableError: it is less than the configuration allows.
    """
    backend = executor.backend()
    try:
        return _adapted(executor, backend)
    finally:
        backend.close()


def _adapted(executor: Executor, backend: Backend) -> Executor:
    capabilities = backend.check(allow_unisolated=executor.config.allow_unisolated)
    if executor.config.backend != "local":
        return executor  # its hosts see to that themselves
    if capabilities.warm or executor.config.start == "cold":
        return replace(executor, isolated=capabilities.isolated)
    config = executor.config.model_copy(update={"start": "cold"})
    return replace(executor, isolated=capabilities.isolated, config=config)


def _run_batches(client: "Client", executor: Executor, batches: list[Batch], counted: _Counted) -> None:
    writer = LedgerWriter(executor.ledger_folder, _DRIVER)
    patience_seconds = executor.config.cluster.patience_seconds
    for batch, report, error in fan_out(client, executor.run, batches, patience_seconds=patience_seconds):
        if error is not None:
            _give_up(executor, batch, error)
        else:
            repeat(report.warnings)
            for found in report.verdicts:
                writer.append(found)
        counted.add(len(batch.items))


def _give_up(executor: Executor, batch: Batch, error: BaseException) -> None:
    """Record what is left of a batch that its workers did not survive, so that the others still count."""
    from distributed import KilledWorker

    if isinstance(error, BigCodeFlowError):
        raise error
    if not isinstance(error, KilledWorker):
        raise ExecutionError(f"batch {batch.name} failed on its worker: {error!r}") from error
    written = read_ledger(executor.ledger_folder, batch.name)
    finished = {line["verdict_key"] for line in written if executor.policy.settles(line)}
    writer = LedgerWriter(executor.ledger_folder, batch.name)
    for item in batch.items:
        if item.verdict_key not in finished:
            sha = executor.environment.environment_sha
            writer.append(lost_verdict(item, "worker lost", backend=executor.config.backend, environment_sha=sha))
