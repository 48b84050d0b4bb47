"""Execution of items on Dask, so that every item gets a verdict even if workers or sandboxes die."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Self

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError
from bigcodeflow.core.progress import MOST_NAMED, NO_STATUS, OpenItem, Status
from bigcodeflow.execution.cluster import ClusterLostError, SchedulerSilentError
from bigcodeflow.execution.costs import Forecast
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.reruns import ONCE, RerunPolicy, worth_another_round
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge import verdicts
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import Verdict

logger = logging.getLogger(__name__)

#: Called with finished and total executions; the total grows when more items arrive.
Progress = Callable[[int, int], None]

#: Most connections to the cluster while one call waits for its verdicts.
_CONNECTIONS = 4
#: Further executions, each on fresh workers, of an item that a lost worker or a broken sandbox left without a verdict.
_FURTHER_EXECUTIONS = 2
_SECONDS_BETWEEN_STATUSES = 1.0


class Engine:
    """Executor of a stage's items, which makes sure that every item gets a verdict.

    Use it as a context manager, in a single thread.
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
        """Read the verdicts that the ledger already holds.

        Args:
            ledger_folder: folder of the ledger, with verdicts of this stage from this run and from interrupted runs.
            workers: workers of the run, with the same settings; None: the engine starts its own workers.
        """
        self._config, self._environment, self._ledger_folder = config, environment, ledger_folder
        self._held = ExitStack()
        self._workers = workers or self._held.enter_context(Workers(config, environment))
        self.ledger = Ledger(ledger_folder)
        self._earlier: dict[str, list[Verdict]] = {}
        for line in self.ledger.read():
            self._earlier.setdefault(line["verdict_key"], []).append(line)
        self._written: set[str] = set()
        self._progress, self._finished, self._total = progress, 0, 0
        self.forecast = Forecast()
        self._fresh = self._held.enter_context(ExitStack())
        self._status, self._status_at = NO_STATUS, 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def verdicts(self, items: Iterable[WorkItem], policy: RerunPolicy = ONCE) -> dict[str, Verdict]:
        """Return the verdict of each item by verdict key; execute the items without a final verdict in the ledger."""
        items = list(items)
        found = self.settled(items, policy)
        self.skip(len(found))
        todo = [item for item in items if item.verdict_key not in found]
        return found | {verdict["verdict_key"]: verdict for verdict in self.stream([todo], policy)}

    def settled(self, items: Iterable[WorkItem], policy: RerunPolicy = ONCE) -> dict[str, Verdict]:
        """Return the ledger's final verdicts of these items by verdict key, from this run and from earlier runs."""
        wanted = {item.verdict_key for item in items}
        here = self._written & wanted
        lines = [line for key in wanted for line in self._earlier.get(key, ())]
        lines += self.ledger.find(here) if here else []
        return {line["verdict_key"]: line for line in lines if policy.settles(line)}

    def skip(self, count: int) -> None:
        """Report ``count`` executions as finished in the progress, because their verdicts are known already."""
        self._count(finished=count, total=count)

    def counts(self, keys: Collection[str]) -> dict[str, int]:
        """Count the ledger's verdicts with these keys (``executed``), and repetitions of a key (``executed_twice``).

        Verdicts with the status infra_error do not count.
        """
        final = [line["verdict_key"] for line in self.ledger.read() if line["status"] != "infra_error"]
        final = [key for key in final if key in keys]
        return {"executed": len(final), "executed_twice": len(final) - len(set(final))}

    def status(self) -> Status:
        """Return the running executions, as last reported by the workers, and the expected seconds to the end."""
        now, moment = time.monotonic(), datetime.now(UTC)
        if now - self._status_at < _SECONDS_BETWEEN_STATUSES:
            return self._status
        self._status_at = now
        running = {key: now - at for key, at in self._workers.under_way.items() if key in self.forecast.open}
        longest = sorted(running.items(), key=lambda one: -one[1])[:MOST_NAMED]
        named = []
        for key, taken in longest:
            item, since = self.forecast.open[key], moment - timedelta(seconds=taken)
            task_id, variant, sample_index = item.origin
            named.append(OpenItem(task_id, since, item.time_seconds, variant, sample_index))
        self._status = Status(len(running), named, self.forecast.eta_seconds(running))
        return self._status

    def seconds_running(self, key: str) -> float:
        """Return the seconds since the execution with this verdict key began, as workers reported; 0 if not running."""
        began = self._workers.under_way.get(key)
        return 0.0 if began is None else time.monotonic() - began

    def stream(self, chunks: Iterable[Collection[WorkItem] | None], policy: RerunPolicy = ONCE) -> Iterator[Verdict]:
        """Execute items as they arrive, and yield the verdict of each distinct item as soon as it is final.

        An item that fails for a temporary reason, such as a lost worker, is executed again on fresh workers, after all
        other items. Its verdict is infra_error only if the reason persists.

        Args:
            chunks: items to execute; None means that no items are ready. A later chunk may hold items that depend on
                verdicts that were yielded before.

        Raises:
            ExecutionError: the cluster could not be reached, or was lost for good; finished verdicts are in the ledger.
        """
        todo, again, losses = dict[str, WorkItem](), dict[str, WorkItem](), 0
        executions = Counter[str]()
        source = self._distinct(chunks, todo)
        while True:
            arriving = _until_only(again, todo, source)
            try:
                for verdict in self._round(chain([list(todo.values())], arriving), policy):
                    key = verdict["verdict_key"]
                    item, executions[key] = todo.pop(key), executions[key] + 1
                    if executions[key] <= _FURTHER_EXECUTIONS and worth_another_round(verdict):
                        again[key] = item
                    else:
                        yield self._counted(verdict)
            except ClusterLostError as error:
                losses += 1
                mistyped = losses == 1 and isinstance(error, SchedulerSilentError)
                if mistyped or losses == _CONNECTIONS:
                    raise
                self._report()  # raises if the run is being stopped
                logger.warning("connecting to the Dask cluster again: %s", error)
                continue
            if not again:
                return
            todo |= again
            again.clear()
            self._fresh.close()
            self._workers = self._fresh.enter_context(Workers(self._config, self._environment))

    def _distinct(
        self, chunks: Iterable[Collection[WorkItem] | None], todo: dict[str, WorkItem]
    ) -> Iterator[list[WorkItem] | None]:
        """Yield the chunks without the items of earlier chunks; count the new items and add them to ``todo``."""
        seen: set[str] = set()
        for chunk in chunks:
            if chunk is None:
                yield None
                continue
            new = {item.verdict_key: item for item in chunk if item.verdict_key not in seen}
            seen |= new.keys()
            todo |= new
            self.forecast.add(new)
            self._count(total=len(new))
            yield list(new.values())

    def _count(self, *, finished: int = 0, total: int = 0) -> None:
        self._finished, self._total = self._finished + finished, self._total + total
        if finished or total:
            self._report()

    def _report(self) -> None:
        """Call the progress callback; an error that the callback raises ends the stage."""
        if self._progress:
            self._progress(self._finished, self._total)

    def _counted(self, verdict: Verdict) -> Verdict:
        self._written.add(verdict["verdict_key"])
        self.forecast.end(verdict["verdict_key"])
        self._count(finished=1)
        return verdict

    def _round(self, source: Iterator[list[WorkItem] | None], policy: RerunPolicy) -> Iterator[Verdict]:
        """Execute every item of ``source`` once, and yield the verdicts as executions end; report progress."""
        for ended in self._workers.execute(source, policy, self._ledger_folder):
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
            self.ledger.append(verdict)
        return verdict

    def _lost(self, item: WorkItem, error: BaseException, policy: RerunPolicy) -> Verdict:
        """Return the verdict of an item whose workers died: from the ledger if a worker wrote it, else infra_error."""
        from distributed import KilledWorker

        if isinstance(error, BigCodeFlowError):
            raise error
        if not isinstance(error, KilledWorker):
            raise ExecutionError(f"an execution failed on its Dask worker: {error!r}; run the same again") from error
        for verdict in filter(policy.settles, self.ledger.find({item.verdict_key})):
            return verdict
        sha = self._environment.environment_sha
        lost = verdicts.lost_verdict(item, "worker lost", backend=self._config.backend, environment_sha=sha)
        self.ledger.append(lost)
        return lost


def _until_only(
    again: Mapping[str, WorkItem], todo: Mapping[str, WorkItem], source: Iterator[list[WorkItem] | None]
) -> Iterator[list[WorkItem] | None]:
    """Yield the chunks of ``source``; end if ``source`` has no ready item and only items in ``again`` lack a verdict.

    The caller then executes ``again``. Waiting would never end: ``source`` may need these verdicts to yield more items.
    """
    for chunk in source:
        if chunk is None and again and not todo:
            return
        yield chunk


def execute_items(
    items: Iterable[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    policy: RerunPolicy = ONCE,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> dict[str, Verdict]:
    """Execute ``items`` with a new `Engine`; return the verdict of each item by verdict key."""
    with Engine(config, environment, ledger_folder, workers=workers, progress=progress) as engine:
        return engine.verdicts(items, policy)
