"""Workers on a Dask cluster that execute items."""

import threading
import time
from asyncio import CancelledError
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.execution.cluster import Cluster, ClusterLostError, fan_out, wait_for_worker
from bigcodeflow.execution.costs import in_order
from bigcodeflow.execution.executor import Executor, adapted
from bigcodeflow.execution.reruns import RerunPolicy
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.items import WorkItem

if TYPE_CHECKING:
    from distributed import Client

    from bigcodeflow.judge.host.base import Backend

#: Seconds between two queries of what workers execute, and seconds to wait for the last answer at the end.
_SECONDS_BETWEEN_LOOKS = 2.0
_LAST_LOOK_SECONDS = 2.0
#: Seconds after which a source without items is asked again.
_POLL_SECONDS = 0.5


class Workers:
    """Cluster of workers with backends, which starts when the first items arrive.

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
        """Execute the items of ``chunks`` in the cluster; yield (item, result, error) of each item, like ``fan_out``.

        A chunk that is None means that no items are ready. Raise ClusterLostError if the connection breaks.
        """
        from distributed.comm.core import CommClosedError

        from bigcodeflow.execution.worker_plugin import execute_item, require_package

        config = self.executor.config
        patience_seconds, is_local = config.cluster.patience_seconds, config.on_this_machine
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
                    yield from fan_out(client, work, items, patience_seconds=patience_seconds, is_local=is_local)
                except CommClosedError as error:
                    problem = f"the Dask scheduler does not answer ({error}): check that it runs"
                    raise ClusterLostError(f"{problem}, then run the same again") from error

    @contextmanager
    def _equipped(self, client: "Client") -> Iterator[None]:
        """Give every worker a backend during the block, also workers that join later; track running executions."""
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
        """Update ``under_way`` regularly; this runs in a thread, so that a silent worker delays nothing else."""
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
        """Set the items' warm libraries (``preload``, ``zygote``); return the items in the order of their starts."""
        with self._preparing:
            return in_order(self._planner.prepare(items) if self._planner else self._prepared_anew(items))

    def _prepared_anew(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Set the items' warm libraries by a new backend; at the first call, also check the backend's isolation."""
        executor = self.executor
        with closing(executor.backend()) as backend:
            try:
                if not self._is_checked:
                    usable = adapted(executor, backend)
                    self.executor, self._is_checked = usable if executor.writes_ledger else executor, True
                items = backend.prepare(items)
            except SandboxUnavailableError:  # workers on other machines check this themselves
                if executor.writes_ledger:
                    raise
        if executor.config.backend == "local":
            self._planner = backend  # a closed backend has no sandbox, but keeps its plan
        return items


def _first_of(chunks: Iterator[list[WorkItem] | None]) -> list[WorkItem]:
    """Wait for the first chunk with items, and return it; return an empty list if no chunk has items."""
    for chunk in chunks:
        if chunk:
            return chunk
        if chunk is None:
            time.sleep(_POLL_SECONDS)
    return []
