"""Executes items on Dask and sees to it that every one gets its verdict, whatever dies on the way."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError, SandboxUnavailableError
from bigcodeflow.environments import Environment, InstalledEnvironment
from bigcodeflow.execution import verdicts
from bigcodeflow.execution.backend_registry import make_backend
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.cluster import Cluster, ClusterLostError, SchedulerSilentError, fan_out, wait_for_worker
from bigcodeflow.execution.items import WorkItem, in_order
from bigcodeflow.execution.verdicts import ONCE, Ledger, RerunPolicy, Verdict

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger(__name__)

#: Called with executions finished and executions in all, which grow as passes are found that have to be checked.
Progress = Callable[[int, int], None]

#: Executions after which a kill from nowhere is taken for the program's own doing.
_ATTEMPTS = 5
#: Times that a cluster is connected to while one call waits for its verdicts.
_CONNECTIONS = 4
#: Further rounds, each on fresh workers, for what a lost worker or a broken sandbox left unjudged.
_FURTHER_ROUNDS = 2
#: How often a source that has nothing now is asked again.
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Executor:
    """What a worker needs to execute an item; small, picklable, and the same for all stages of a run."""

    config: ExecutionConfig
    environment: Environment
    isolated: bool = True
    writes_ledger: bool = True
    """Workers write the ledger themselves: the moment a verdict stands, it survives the end of the whole run. False
    where they may not share the folder: then the driver writes what they return."""

    def run(self, item: WorkItem, policy: RerunPolicy, backend: Backend, ledger: Ledger) -> Verdict:
        """Execute an item in a worker process, which has a backend and a ledger of its own."""
        if not self.writes_ledger:
            return self.judge(backend, item, policy)
        # The worker that had the item before may have died between its line and its answer.
        verdict = next(filter(policy.settles, ledger.find({item.verdict_key}, own=False)), None)
        if verdict is None:
            verdict = self.judge(backend, item, policy)
            ledger.append(verdict)
        return verdict

    def backend(self, slots: int = 1) -> Backend:
        """The backend that the configuration names, for a worker process with so many slots."""
        cores = max(1.0, slots / self.config.slots_per_worker)
        return make_backend(self.config, self.environment, cores=cores, isolated=self.isolated, on_long=_leave_slot)

    def backend_elsewhere(self, slots: int) -> Backend:
        """The backend of a worker on another machine: with what this machine has, and what can be had here."""
        from bigcodeflow.execution.worker_plugin import environment_here

        if not isinstance(self.environment, InstalledEnvironment):
            return self.backend(slots)  # it lies where the backend is, whichever machine asks
        return checked(replace(self, environment=environment_here(self.environment))).backend(slots)

    def judge(self, backend: Backend, item: WorkItem, policy: RerunPolicy) -> Verdict:
        """The verdict of one item, after as many executions as the policy asks for."""
        executions = [self.execute(backend, item)]
        while policy.wants_another(executions):
            executions.append(self.execute(backend, item))
        return policy.settled(executions)

    def execute(self, backend: Backend, item: WorkItem) -> Verdict:
        """The verdict of one execution; one that was disturbed from outside is repeated."""
        outcome, attempts = backend.execute(item), 1
        while verdicts.worth_repeating(outcome) and attempts < _ATTEMPTS:
            outcome, attempts = backend.execute(item), attempts + 1
        name, sha = outcome.backend or backend.name, outcome.environment_sha or self.environment.environment_sha
        return verdicts.verdict(item, outcome, backend=name, environment_sha=sha, attempts=attempts)


def _leave_slot() -> None:
    """In the thread of a sample that computes or sleeps for long: let the worker take another item beside it."""
    from distributed import secede
    from distributed.threadpoolexecutor import thread_state

    if getattr(thread_state, "proceed", False):  # not a second time, by another execution of the same item
        secede()


class Workers:
    """A cluster whose workers have what they execute with, started when there is first something to execute.

    A context; several threads, and several stages of one run, may use it.
    """

    def __init__(self, config: ExecutionConfig, environment: Environment) -> None:
        """Start nothing yet."""
        self.executor = Executor(config, environment, writes_ledger=config.on_this_machine)
        self._planner: Backend | None = None
        self._is_checked = False
        self._cluster = Cluster(config)
        self._preparing = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.close()

    def execute(
        self, chunks: Iterator[list[WorkItem] | None], policy: RerunPolicy, ledger_folder: Path
    ) -> Iterator[tuple[WorkItem, Any, BaseException | None] | None]:
        """As ``fan_out``, on one connection to the cluster; ClusterLostError where it broke while some are open."""
        from distributed.comm.core import CommClosedError

        from bigcodeflow.execution.worker_plugin import execute_item, require_package

        patience_seconds = self.executor.config.cluster.patience_seconds
        if not (first := _first_of(chunks)):
            return
        with ThreadPoolExecutor(1, "prepare") as pool:  # a cluster takes seconds to start, mostly waiting
            prepared = pool.submit(self._prepared, first)
            with self._cluster.client() as client:
                items = chain(prepared.result(), self._prepared_by_and_by(chunks))
                try:
                    wait_for_worker(client, patience_seconds)
                    require_package(client)
                    self._cluster.equip(_backends_kept(client, self._cluster.name, self.executor))
                    work = partial(execute_item, self._cluster.name, ledger_folder, policy)
                    yield from fan_out(client, work, items, patience_seconds=patience_seconds)
                except CommClosedError as error:
                    problem = f"the Dask scheduler does not answer ({error})"
                    raise ClusterLostError(f"{problem}: run the same again") from error

    def _prepared_by_and_by(self, chunks: Iterator[list[WorkItem] | None]) -> Iterator[WorkItem | None]:
        for chunk in chunks:
            yield from [None] if chunk is None else self._prepared(chunk)

    def _prepared(self, items: list[WorkItem]) -> list[WorkItem]:
        """Items in their order, with what a warm start needs."""
        with self._preparing:
            return in_order(self._planner.prepare(items) if self._planner else self._prepared_anew(items))

    def _prepared_anew(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The same by a backend of this process, which is also asked once what can be had on this machine."""
        executor = self.executor
        with closing(executor.backend()) as backend:
            try:
                if not self._is_checked:
                    adapted = _adapted(executor, backend)
                    self.executor, self._is_checked = adapted if executor.writes_ledger else executor, True
                items = backend.prepare(items)
            except SandboxUnavailableError:  # workers elsewhere look for themselves
                if executor.writes_ledger:
                    raise
        if executor.config.backend == "local":
            self._planner = backend  # it keeps no sandbox, but what it planned
        return items


class Engine:
    """Executes the items of one stage, and sees to it that each gets its verdict.

    A context; several threads may ask for verdicts at the same time.
    """

    def __init__(
        self,
        config: ExecutionConfig,
        environment: Environment,
        ledger_folder: Path,
        *,
        workers: Workers | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Read what stands already.

        Args:
            ledger_folder: keeps the verdicts of this stage, from this and from interrupted runs.
            workers: those of the run, under these settings; None: it has workers of its own.
        """
        self._config, self._environment, self._ledger_folder = config, environment, ledger_folder
        self._held = ExitStack()
        self._workers = workers or self._held.enter_context(Workers(config, environment))
        self._ledger = Ledger(ledger_folder)
        self._earlier: dict[str, list[Verdict]] = {}
        for line in self._ledger.read():
            self._earlier.setdefault(line["verdict_key"], []).append(line)
        self._written: set[str] = set()
        self._progress, self._finished, self._total = progress, 0, 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def verdicts(self, items: Iterable[WorkItem], policy: RerunPolicy = ONCE) -> dict[str, Verdict]:
        """The verdict of each item, by key: what the ledger holds, and what is executed now."""
        items = list(items)
        found = self.settled(items, policy)
        self.skip(len(found))
        todo = [item for item in items if item.verdict_key not in found]
        return found | {verdict["verdict_key"]: verdict for verdict in self.stream([todo], policy)}

    def settled(self, items: Iterable[WorkItem], policy: RerunPolicy = ONCE) -> dict[str, Verdict]:
        """Verdicts that the ledger holds of this stage, by former runs and by this one, by key."""
        wanted = {item.verdict_key for item in items}
        with self._lock:
            here = self._written & wanted
        lines = [line for key in wanted for line in self._earlier.get(key, ())]
        lines += self._ledger.find(here) if here else []
        return {line["verdict_key"]: line for line in lines if policy.settles(line)}

    def skip(self, count: int) -> None:
        """Count executions that are known already as finished."""
        self._count(finished=count, total=count)

    def counts(self, keys: Collection[str]) -> dict[str, int]:
        """How many executions of these keys the ledger holds, and how many of them more than once."""
        final = [line["verdict_key"] for line in self._ledger.read() if line["status"] != "infra_error"]
        final = [key for key in final if key in keys]
        return {"executed": len(final), "executed_twice": len(final) - len(set(final))}

    def stream(self, chunks: Iterable[Collection[WorkItem] | None], policy: RerunPolicy = ONCE) -> Iterator[Verdict]:
        """Execute items that come by and by, and yield the verdict of each distinct one as soon as it stands.

        What is left unjudged for a reason that may go by is executed again on fresh workers, and is an infra_error
        only where that persisted.

        Args:
            chunks: items to execute; None says that there are none now, and that it is to be asked again.

        Raises:
            ExecutionError: the cluster could not be reached, or was lost for good; finished verdicts are in the ledger.
        """
        source, rounds_left, losses = self._arriving(chunks), _FURTHER_ROUNDS, 0
        todo, again, workers = dict[str, WorkItem](), list[WorkItem](), self._workers
        while True:
            try:
                for verdict in self._round(source, todo, policy, workers):
                    item = todo.pop(verdict["verdict_key"])
                    if rounds_left and verdicts.worth_another_round(verdict):
                        again.append(item)
                    else:
                        yield self._counted(verdict)
            except ClusterLostError as error:
                losses += 1
                mistyped = losses == 1 and isinstance(error, SchedulerSilentError)
                if mistyped or losses == _CONNECTIONS:
                    raise
                logger.warning("%s; connecting again", error)
                source = chain([list(todo.values())], source)
                continue
            if not again:
                return
            rounds_left, source, again = rounds_left - 1, iter([again]), []
            workers = self._held.enter_context(Workers(self._config, self._environment))

    def _arriving(self, chunks: Iterable[Collection[WorkItem] | None]) -> Iterator[list[WorkItem] | None]:
        """The chunks without items that were in one before, counted."""
        seen: set[str] = set()
        for chunk in chunks:
            if chunk is None:
                yield None
                continue
            new = {item.verdict_key: item for item in chunk if item.verdict_key not in seen}
            seen |= new.keys()
            self._count(total=len(new))
            yield list(new.values())

    def _count(self, *, finished: int = 0, total: int = 0) -> None:
        with self._lock:
            self._finished, self._total = self._finished + finished, self._total + total
        if finished or total:
            self._report()

    def _report(self) -> None:
        """Tell how far it is; who is told may raise, which ends the work."""
        if self._progress:
            with self._lock:
                self._progress(self._finished, self._total)

    def _counted(self, verdict: Verdict) -> Verdict:
        with self._lock:
            self._written.add(verdict["verdict_key"])
        self._count(finished=1)
        return verdict

    def _round(
        self, source: Iterator[list[WorkItem] | None], todo: dict[str, WorkItem], policy: RerunPolicy, workers: Workers
    ) -> Iterator[Verdict]:
        """Execute items once; ``todo`` gets what is taken of the source."""
        for ended in workers.execute(_noted(source, todo), policy, self._ledger_folder):
            if ended is None:
                self._report()
                continue
            item, result, error = ended
            yield self._result(result) if error is None else self._lost(item, error, policy)

    def _result(self, result: tuple[Verdict, list[str]]) -> Verdict:
        from bigcodeflow.execution.worker_plugin import replay

        verdict, warnings = result
        replay(warnings)
        if not self._config.on_this_machine:
            self._ledger.append(verdict)
        return verdict

    def _lost(self, item: WorkItem, error: BaseException, policy: RerunPolicy) -> Verdict:
        """The verdict of an item that its workers did not survive: what one of them wrote, else an infra_error."""
        from distributed import KilledWorker

        if isinstance(error, BigCodeFlowError):
            raise error
        if not isinstance(error, KilledWorker):
            raise ExecutionError(f"an execution failed on its worker: {error!r}") from error
        for verdict in filter(policy.settles, self._ledger.find({item.verdict_key})):
            return verdict
        sha = self._environment.environment_sha
        lost = verdicts.lost_verdict(item, "worker lost", backend=self._config.backend, environment_sha=sha)
        self._ledger.append(lost)
        return lost


def _noted(source: Iterator[list[WorkItem] | None], items: dict[str, WorkItem]) -> Iterator[list[WorkItem] | None]:
    """The chunks of a source, whose items are noted as they are taken."""
    for chunk in source:
        items.update((item.verdict_key, item) for item in chunk or ())
        yield chunk


def _first_of(chunks: Iterator[list[WorkItem] | None]) -> list[WorkItem]:
    """The first chunk that holds something, waited for; empty where there is none."""
    for chunk in chunks:
        if chunk:
            return chunk
        if chunk is None:
            time.sleep(_POLL_SECONDS)
    return []


def execute_items(
    items: Iterable[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    policy: RerunPolicy = ONCE,
    progress: Progress | None = None,
) -> dict[str, Verdict]:
    """The verdict of each item, by key, from an engine that serves these alone."""
    with Engine(config, environment, ledger_folder, progress=progress) as engine:
        return engine.verdicts(items, policy)


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
def _backends_kept(client: "Client", name: str, executor: Executor) -> Iterator[None]:
    """Give every worker, also one that joins later, its backend; taken from all of them in the end."""
    from distributed.comm.core import CommClosedError

    from bigcodeflow.execution.worker_plugin import BackendPlugin, close_backend, replay

    make = executor.backend if executor.writes_ledger else executor.backend_elsewhere
    try:
        client.register_plugin(BackendPlugin(name, executor, make))
        yield
    finally:
        # A cluster that is gone keeps nothing, nor does a worker that could not set up; the caller has to hear why.
        with suppress(CommClosedError, KeyError):
            for warnings in client.run(close_backend, name, on_error="ignore").values():
                replay(warnings)
            client.unregister_worker_plugin(name)
