"""Executes items until each has its verdict in the ledger, whatever has to be tried again."""

from collections.abc import Collection, Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.environments import Environment
from bigcodeflow.execution.cluster import Cluster
from bigcodeflow.execution.engine import Progress, execute_items
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.ledger import final_keys, read_ledger
from bigcodeflow.execution.planning import LONG_SECONDS
from bigcodeflow.execution.reruns import ONCE, RerunPolicy, worth_another_round

#: Further rounds, each on fresh workers, for what a lost worker or a broken sandbox left unjudged.
_FURTHER_ROUNDS = 2


def execute_with_retries(
    items: Sequence[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    policy: RerunPolicy = ONCE,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> None:
    """Execute every item, and in further rounds what was left unjudged for a reason that may have gone by then.

    Each verdict is in the ledger folder when this returns, an infra_error where it persisted.

    Raises:
        ExecutionError: the cluster could not be reached, or was lost for good.
    """
    execute_items(
        items,
        config=config,
        environment=environment,
        ledger_folder=ledger_folder,
        policy=policy,
        progress=progress,
        cluster=cluster,
    )
    wanted = {item.verdict_key: item for item in items}
    for _ in range(_FURTHER_ROUNDS if items else 0):
        lines = [line for line in read_ledger(ledger_folder) if line["verdict_key"] in wanted]
        judged = {line["verdict_key"] for line in lines if policy.settles(line)}
        unjudged = {line["verdict_key"] for line in lines if worth_another_round(line)} - judged
        # Alone in its batch, an item that takes its worker down takes no other item with it.
        again = [_alone(wanted[key]) for key in sorted(unjudged)]
        execute_items(again, config=config, environment=environment, ledger_folder=ledger_folder, policy=policy)


def _alone(item: WorkItem) -> WorkItem:
    return replace(item, expected_seconds=max(item.expected_seconds, LONG_SECONDS))


def verdicts_of(
    items: Sequence[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> dict[str, dict[str, Any]]:
    """Verdicts, by key, of items beside the planned ones; what the ledger holds is not executed again.

    Raises:
        ExecutionError: the work could not be finished.
    """
    wanted = {item.verdict_key: item for item in items}
    known = final_keys(ledger_lines(ledger_folder, wanted)) if wanted else set()
    todo = [item for key, item in wanted.items() if key not in known]
    if todo:
        execute_with_retries(
            todo,
            config=config,
            environment=environment,
            ledger_folder=ledger_folder,
            progress=offset(progress, len(known), len(wanted)),
            cluster=cluster,
        )
    lines = ledger_lines(ledger_folder, wanted) if wanted else []
    lines.sort(key=lambda line: line["status"] != "infra_error")
    verdicts = {line["verdict_key"]: line for line in lines}
    require_none_missing(wanted.keys() - verdicts.keys(), ledger_folder)
    return verdicts


def ledger_lines(folder: Path, wanted: Container[str]) -> list[dict[str, Any]]:
    """Verdicts in the ledger whose key is wanted, as in VERDICTS."""
    return [line for line in read_ledger(folder) if line["verdict_key"] in wanted]


def require_none_missing(missing: Collection[str], ledger_folder: Path) -> None:
    """Check that every execution left a verdict.

    Raises:
        ExecutionError: some did not.
    """
    if missing:
        raise ExecutionError(
            f"{len(missing)} executions left no verdict in {ledger_folder}: run the same command again"
        )


def offset(progress: Progress | None, done: int, total: int) -> Progress:
    """A progress that counts on from what is done already."""

    def report(finished: int, _todo: int) -> None:
        if progress:
            progress(done + finished, total)

    report(0, 0)
    return report
