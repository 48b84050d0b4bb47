"""Fans batches out over Dask and sees to it that every item gets its verdict, whatever dies on the way."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError, SandboxUnavailableError
from bigcodeflow.environments import Environment, InstalledEnvironment
from bigcodeflow.execution import verdicts
from bigcodeflow.execution.backend_registry import make_backend
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.cluster import Cluster, ClusterLostError, SchedulerSilentError, fan_out, slots_of
from bigcodeflow.execution.items import LONG_SECONDS, Batch, WorkItem, plan_batches
from bigcodeflow.execution.verdicts import ONCE, Ledger, RerunPolicy, Verdict

if TYPE_CHECKING:
    from distributed import Client

    from bigcodeflow.execution.worker_plugin import BackendPlugin

logger = logging.getLogger(__name__)

#: Called with items finished and items in all.
Progress = Callable[[int, int], None]

#: Executions after which a kill from nowhere is taken for the program's own doing.
_ATTEMPTS = 5
#: Times that a cluster is connected to while one stage is executed.
_CONNECTIONS = 4
#: Further rounds, each on fresh workers, for what a lost worker or a broken sandbox left unjudged.
_FURTHER_ROUNDS = 2


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
    """Under which workers hold the plugin with the backend, as ``Cluster.name``."""

    def run(self, batch: Batch) -> tuple[list[Verdict], list[str]]:
        """Execute what is still open of a batch, in a worker; verdicts not in the ledger yet, and logged warnings."""
        from distributed import get_worker

        plugin = cast("BackendPlugin", get_worker().plugins[self.name])
        if not self.writes_ledger:
            return [self.judge(plugin.backend, item) for item in batch.items], plugin.warnings()
        ledger = Ledger(self.ledger_folder)
        for item in self.open_items(batch.items, batch.name):
            ledger.append(self.judge(plugin.backend, item), batch.name)
        return [], plugin.warnings()

    def open_items(self, items: Sequence[WorkItem], batch: str = "") -> list[WorkItem]:
        """Items that no verdict in the ledger, or in its files of one batch, settles."""
        settled = {line["verdict_key"] for line in Ledger(self.ledger_folder).read(batch) if self.policy.settles(line)}
        return [item for item in items if item.verdict_key not in settled]

    def backend(self, slots: int = 1) -> Backend:
        """The backend that the configuration names, for a worker process with so many slots."""
        cores = max(1.0, slots / self.config.slots_per_worker)
        return make_backend(self.config, self.environment, cores=cores, isolated=self.isolated)

    def backend_elsewhere(self, slots: int) -> Backend:
        """The backend of a worker on another machine: with what this machine has, and what can be had here."""
        from bigcodeflow.execution.worker_plugin import environment_here

        if not isinstance(self.environment, InstalledEnvironment):
            return self.backend(slots)  # it lies where the backend is, whichever machine asks
        return checked(replace(self, environment=environment_here(self.environment))).backend(slots)

    def judge(self, backend: Backend, item: WorkItem) -> Verdict:
        """The verdict of one item, after as many executions as the policy asks for."""
        executions = [self.execute(backend, item)]
        while self.policy.wants_another(executions):
            executions.append(self.execute(backend, item))
        return self.policy.settled(executions)

    def execute(self, backend: Backend, item: WorkItem) -> Verdict:
        """The verdict of one execution; one that was disturbed from outside is repeated."""
        outcome, attempts = backend.execute(item), 1
        while verdicts.worth_repeating(outcome) and attempts < _ATTEMPTS:
            outcome, attempts = backend.execute(item), attempts + 1
        name, sha = outcome.backend or backend.name, outcome.environment_sha or self.environment.environment_sha
        return verdicts.verdict(item, outcome, backend=name, environment_sha=sha, attempts=attempts)


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
    """Execute every item on Dask, and again what was left unjudged for a reason that may have gone by then.

    Each verdict is in the ledger folder when this returns, an infra_error where it persisted; ExecutionError where
    the cluster could not be reached, or was lost for good.

    Args:
        progress: called during the first round.
        cluster: one that is kept for what follows; without it, and in further rounds, one is started and ended here.
    """
    executor = Executor(config, environment, ledger_folder, policy=policy, writes_ledger=config.on_this_machine)
    todo, losses, rounds = items, 0, 0
    finished = len(items)

    def report(count: int) -> None:
        nonlocal finished
        finished += count
        if progress and not rounds:
            progress(finished, len(items))

    while todo:
        finished = len(items) - len(todo)
        try:
            _execute_round(todo, executor, cluster if not rounds else None, report)
        except ClusterLostError as error:
            losses += 1
            mistyped = losses == 1 and isinstance(error, SchedulerSilentError)
            if mistyped or losses == _CONNECTIONS:
                raise
            logger.warning("%s; connecting again", error)
            todo = executor.open_items(todo)
        else:
            rounds += 1
            todo = _unjudged(items, executor) if rounds <= _FURTHER_ROUNDS else []


def _unjudged(items: Sequence[WorkItem], executor: Executor) -> list[WorkItem]:
    """Items worth another round; alone in its batch, one that takes its worker down takes no other with it."""
    lines = Ledger(executor.ledger_folder).read()
    failed = {line["verdict_key"] for line in lines if verdicts.worth_another_round(line)}
    again = [item for item in items if item.verdict_key in failed]
    still_open = sorted(executor.open_items(again) if again else [], key=lambda item: item.verdict_key)
    return [replace(item, expected_seconds=max(item.expected_seconds, LONG_SECONDS)) for item in still_open]


def _execute_round(
    items: Sequence[WorkItem], executor: Executor, cluster: Cluster | None, report: Callable[[int], None]
) -> None:
    """Execute items on one connection to a cluster; ClusterLostError where it broke while some are open."""
    from distributed.comm.core import CommClosedError

    from bigcodeflow.execution.worker_plugin import require_package

    with ExitStack() as held:
        connected = cluster or held.enter_context(Cluster(executor.config))
        executor = replace(executor, name=connected.name)
        pool = held.enter_context(ThreadPoolExecutor(1, "prepare"))  # a cluster takes seconds to start, mostly waiting
        prepared = pool.submit(_prepared, executor, items)
        with connected.client() as client:
            executor, items = prepared.result()
            report(0)
            try:
                slots = slots_of(client, executor.config.cluster.patience_seconds)
                require_package(client)
                batches = plan_batches(connected.with_kept_zygotes(items), slots, alone=not executor.writes_ledger)
                connected.equip(_backends_kept(client, executor))
                _run_batches(client, executor, batches, report)
            except CommClosedError as error:
                raise ClusterLostError(f"the Dask scheduler does not answer ({error}): run the same again") from error


def _prepared(executor: Executor, items: Sequence[WorkItem]) -> tuple[Executor, Sequence[WorkItem]]:
    """What workers on this machine are to use; those elsewhere check that themselves."""
    with closing(executor.backend()) as backend:
        try:
            here = _adapted(executor, backend)
            items = backend.prepare(items)
        except SandboxUnavailableError:
            if executor.writes_ledger:
                raise
            return executor, items
    return here if executor.writes_ledger else executor, items


def checked(executor: Executor) -> Executor:
    """The executor with the isolation and the start that can be had here."""
    with closing(executor.backend()) as backend:
        return _adapted(executor, backend)


def _adapted(executor: Executor, backend: Backend) -> Executor:
    capabilities = backend.check(allow_unisolated=executor.config.allow_unisolated)
    if executor.config.backend != "local":
        return executor  # its hosts see to that themselves
    start = executor.config.start if capabilities.warm else "cold"
    config = executor.config.model_copy(update={"start": start})
    return replace(executor, isolated=capabilities.isolated, config=config)


@contextmanager
def _backends_kept(client: "Client", executor: Executor) -> Iterator[None]:
    """Give every worker, also one that joins later, its backend; taken from all of them in the end."""
    from distributed.comm.core import CommClosedError

    from bigcodeflow.execution.worker_plugin import BackendPlugin, close_backend, replay

    make = executor.backend if executor.writes_ledger else executor.backend_elsewhere
    try:
        client.register_plugin(BackendPlugin(executor.name, make))
        yield
    finally:
        # A cluster that is gone keeps nothing, nor does a worker that could not set up; the caller has to hear why.
        with suppress(CommClosedError, KeyError):
            for warnings in client.run(close_backend, executor.name, on_error="ignore").values():
                replay(warnings)
            client.unregister_worker_plugin(executor.name)


def _run_batches(client: "Client", executor: Executor, batches: list[Batch], report: Callable[[int], None]) -> None:
    """Have batches executed; what is left of one that its workers did not survive is lost, so that others count."""
    from distributed import KilledWorker

    from bigcodeflow.execution.worker_plugin import replay

    ledger, sha = Ledger(executor.ledger_folder), executor.environment.environment_sha
    patience_seconds = executor.config.cluster.patience_seconds
    for batch, result, error in fan_out(client, executor.run, batches, patience_seconds=patience_seconds):
        if error is None:
            returned, warnings = result
            replay(warnings)
            for found in returned:
                ledger.append(found, "driver")
        elif isinstance(error, KilledWorker):
            for item in executor.open_items(batch.items, batch.name):
                lost = verdicts.lost_verdict(item, "worker lost", backend=executor.config.backend, environment_sha=sha)
                ledger.append(lost, batch.name)
        elif isinstance(error, BigCodeFlowError):
            raise error
        else:
            raise ExecutionError(f"batch {batch.name} failed on its worker: {error!r}") from error
        report(len(batch.items))
