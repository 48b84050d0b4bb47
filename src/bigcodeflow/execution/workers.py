"""Workers that execute items: the executor that each worker has, and the cluster of these workers."""

import threading
import time
from asyncio import CancelledError
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.execution.cluster import Cluster, ClusterLostError, fan_out, wait_for_worker
from bigcodeflow.execution.costs import in_order
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.reruns import RerunPolicy
from bigcodeflow.judge.backend_registry import make_backend
from bigcodeflow.judge.environments import Environment, InstalledEnvironment
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.judging import executed
from bigcodeflow.judge.verdicts import Verdict

if TYPE_CHECKING:
    from distributed import Client

#: Seconds between two queries of what workers execute, and seconds to wait for the last answer at the end.
_SECONDS_BETWEEN_LOOKS = 2.0
_LAST_LOOK_SECONDS = 2.0
#: Seconds after which a source without items is asked again.
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Executor:
    """Settings that a worker needs to execute items; small, picklable, and the same for all stages of a run."""

    config: ExecutionConfig
    environment: Environment
    isolated: bool = True
    writes_ledger: bool = True
    """True if workers write the ledger themselves, so that a final verdict survives any end of the run. False if they
    may not share the folder: then the driver writes what they return."""

    def run(self, item: WorkItem, policy: RerunPolicy, backend: Backend, ledger: Ledger) -> Verdict:
        """Execute an item in a worker process, with the worker's own backend and ledger."""
        if not self.writes_ledger:
            return self.judge(backend, item, policy)
        # Another worker may have written the verdict and died before it answered.
        verdict = next(filter(policy.settles, ledger.find({item.verdict_key}, own=False)), None)
        if verdict is None:
            verdict = self.judge(backend, item, policy)
            ledger.append(verdict)
        return verdict

    def backend(self, slots: int = 1) -> Backend:
        """Make the configured backend for a worker process with this number of slots."""
        cores = max(1.0, slots / self.config.slots_per_worker)
        return make_backend(self.config, self.environment, cores=cores, isolated=self.isolated, on_long=_leave_slot)

    def backend_of_worker(self, slots: int) -> Backend:
        """Make a worker's backend; on another machine, with the environment and isolation available there."""
        from bigcodeflow.execution.worker_plugin import environment_here

        if self.writes_ledger or not isinstance(self.environment, InstalledEnvironment):
            return self.backend(slots)  # on this machine, or with an environment at the backend, for every machine
        return checked(replace(self, environment=environment_here(self.environment))).backend(slots)

    def judge(self, backend: Backend, item: WorkItem, policy: RerunPolicy) -> Verdict:
        """Return the verdict of one item, after as many executions as the policy asks for."""
        sha = self.environment.environment_sha
        executions = [executed(backend, item, sha)]
        while policy.wants_another(executions):
            executions.append(executed(backend, item, sha))
        return policy.settled(executions)


def _leave_slot() -> None:
    """Let the worker take another item; called in the thread of a sample that computes or sleeps for long."""
    from distributed import secede
    from distributed.threadpoolexecutor import thread_state

    if getattr(thread_state, "proceed", False):  # not a second time for another execution of the same item
        secede()


class Workers:
    """A cluster of workers with executors, which starts when the first items arrive.

    Use it as a context manager; several threads, and several stages of one run, may use it.
    """

    def __init__(self, config: ExecutionConfig, environment: Environment) -> None:
        self.executor = Executor(config, environment, writes_ledger=config.on_this_machine)
        self._planner: Backend | None = None
        self._is_checked = False
        self._cluster = Cluster(config)
        self._preparing = threading.Lock()
        #: Start of each running execution, in this process's monotonic time, by verdict key.
        self.under_way: Mapping[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.close()

    def execute(
        self, chunks: Iterator[list[WorkItem] | None], policy: RerunPolicy, ledger_folder: Path
    ) -> Iterator[tuple[WorkItem, Any, BaseException | None] | None]:
        """Execute the items of the chunks in the cluster; yield what ``fan_out`` yields.

        A chunk None means that no items are ready now. Raises ClusterLostError if the connection breaks.
        """
        from distributed.comm.core import CommClosedError

        from bigcodeflow.execution.worker_plugin import execute_item, require_package

        patience_seconds = self.executor.config.cluster.patience_seconds
        if not (first := _first_of(chunks)):
            return
        with ThreadPoolExecutor(1, "prepare") as pool:  # a cluster takes seconds to start, mostly waiting
            prepared = pool.submit(self._prepared, first)
            with self._cluster.client() as client:
                items = chain(prepared.result(), self._prepare_arriving(chunks))
                try:
                    wait_for_worker(client, patience_seconds)
                    require_package(client)
                    self._cluster.equip(self._equipped(client))
                    work = partial(execute_item, self._cluster.name, ledger_folder, policy)
                    yield from fan_out(client, work, items, patience_seconds=patience_seconds)
                except CommClosedError as error:
                    problem = f"the Dask scheduler does not answer ({error})"
                    raise ClusterLostError(f"{problem}: run the same again") from error

    @contextmanager
    def _equipped(self, client: "Client") -> Iterator[None]:
        """Give every worker a backend, also workers that join later, and note what they execute, during the block."""
        from distributed.comm.core import CommClosedError

        from bigcodeflow.execution.worker_plugin import BackendPlugin, close_backend, replay

        name, executor, ended = self._cluster.name, self.executor, threading.Event()
        asking = threading.Thread(target=self._ask, args=(client, ended), name="ask", daemon=True)
        try:
            client.register_plugin(BackendPlugin(name, executor))
            asking.start()
            yield
        finally:
            ended.set()
            if asking.ident:
                asking.join(_LAST_LOOK_SECONDS)
            self.under_way = {}
            # A lost cluster and a worker whose setup failed keep nothing, and a scheduler that took the place of a lost
            # one does not know the plug-in (ValueError); the caller must see the original error.
            with suppress(CommClosedError, KeyError, ValueError):
                for warnings in client.run(close_backend, name, on_error="ignore").values():
                    replay(warnings)
                client.unregister_worker_plugin(name)

    def _ask(self, client: "Client", ended: threading.Event) -> None:
        """Ask the workers regularly what they execute, in a separate thread, so that a silent worker delays nothing."""
        from bigcodeflow.execution.worker_plugin import under_way_here

        while not ended.wait(_SECONDS_BETWEEN_LOOKS):
            # Other code handles errors of connection, scheduler and workers: this is for display only.
            with suppress(Exception, CancelledError):
                found = client.run(under_way_here, self._cluster.name, on_error="ignore")
                now = time.monotonic()
                self.under_way = {key: now - since for one in found.values() for key, since in one.items()}

    def _prepare_arriving(self, chunks: Iterator[list[WorkItem] | None]) -> Iterator[WorkItem | None]:
        for chunk in chunks:
            yield from [None] if chunk is None else self._prepared(chunk)

    def _prepared(self, items: list[WorkItem]) -> list[WorkItem]:
        """Return items in the order of their starts, with ``preload`` and ``zygote`` filled in."""
        with self._preparing:
            return in_order(self._planner.prepare(items) if self._planner else self._prepared_anew(items))

    def _prepared_anew(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Prepare items by a new backend of this process; the first time, also check the isolation that it offers."""
        executor = self.executor
        with closing(executor.backend()) as backend:
            try:
                if not self._is_checked:
                    adapted = _adapted(executor, backend)
                    self.executor, self._is_checked = adapted if executor.writes_ledger else executor, True
                items = backend.prepare(items)
            except SandboxUnavailableError:  # workers on other machines check this themselves
                if executor.writes_ledger:
                    raise
        if executor.config.backend == "local":
            self._planner = backend  # closed, it has no sandbox, but still its plan
        return items


def _first_of(chunks: Iterator[list[WorkItem] | None]) -> list[WorkItem]:
    """Wait for the first chunk with items, and return it; empty if there is none."""
    for chunk in chunks:
        if chunk:
            return chunk
        if chunk is None:
            time.sleep(_POLL_SECONDS)
    return []


def checked(executor: Executor) -> Executor:
    """Return the executor with the isolation and the kind of start that are available here."""
    with closing(executor.backend()) as backend:
        return _adapted(executor, backend)


def _adapted(executor: Executor, backend: Backend) -> Executor:
    capabilities = backend.check(allow_unisolated=executor.config.allow_unisolated)
    if executor.config.backend != "local":
        return executor  # its hosts check this themselves
    start = executor.config.start if capabilities.warm else "cold"
    config = executor.config.model_copy(update={"start": start})
    return replace(executor, isolated=capabilities.isolated, config=config)
