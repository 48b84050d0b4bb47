"""From solutions to verdicts: what has to run, what is already known, and the finished table."""

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bigcodeflow.calibration import calibrate, executed_program
from bigcodeflow.config import ExecutionConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.errors import ExecutionError
from bigcodeflow.execution.engine import Progress, execute_items, is_unconfirmed_failure
from bigcodeflow.execution.items import WorkItem, work_item
from bigcodeflow.execution.ledger import final_keys, read_ledger, read_ledgers
from bigcodeflow.execution.verdicts import blocked_verdict
from bigcodeflow.schemas import VERDICTS

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """One row of the verdicts table to be: whose it is, and the execution that gives its verdict."""

    task_id: str
    sample_index: int
    variant: str
    sanitizer: str
    item: WorkItem
    blocked_by: str = ""
    """The safety finding that forbids execution; empty: it may run."""


def plan_ground_truths(tasks: pa.Table, *, config: ExecutionConfig, environment: InstalledEnvironment) -> list[Planned]:
    """The canonical solutions, as one calibrated sample a task."""
    planned = []
    for task in tasks.to_pylist():
        solution = task["complete_prompt"] + task["canonical_solution"]
        item = work_item(
            program=calibrate(task["code_prompt"], solution),
            task=task,
            task_modules=_task_modules(task),
            environment_sha=environment.environment_sha,
            limits=config.limits,
        )
        planned.append(Planned(task["task_id"], 0, "calibrated", "none", item))
    return planned


def plan_solutions(
    solutions: pa.Table,
    tasks: pa.Table,
    ground_truth: pa.Table,
    *,
    config: ExecutionConfig,
    environment: InstalledEnvironment,
) -> list[Planned]:
    """Every solution in every variant that the configuration asks for, in the order of the solutions."""
    by_id = {task["task_id"]: task for task in tasks.to_pylist()}
    modules = {task_id: _task_modules(task) for task_id, task in by_id.items()}
    seconds = {
        row["task_id"]: row["wall_seconds"] for row in ground_truth.select(["task_id", "wall_seconds"]).to_pylist()
    }
    planned = []
    for row in solutions.to_pylist():
        task = by_id[row["task_id"]]
        for variant in config.variants:
            item = work_item(
                program=executed_program(
                    code_prompt=task["code_prompt"],
                    solution=row["solution"],
                    variant=variant,
                    sanitizer=row["sanitizer"],
                ),
                task=task,
                task_modules=modules[row["task_id"]],
                environment_sha=environment.environment_sha,
                limits=config.limits,
                ground_truth_seconds=seconds.get(row["task_id"]),
            )
            reason = _reason(row) if row["blocked"] else ""
            planned.append(Planned(row["task_id"], row["sample_index"], variant, row["sanitizer"], item, reason))
    return planned


def judge(
    planned: Sequence[Planned],
    *,
    config: ExecutionConfig,
    environment: InstalledEnvironment,
    ledger_folder: Path,
    known: Sequence[Path],
    other_ledgers: Iterable[Path] = (),
    confirm_failures: bool = False,
    progress: Progress | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Execute what is not yet known and return the VERDICTS table with what was counted on the way.

    Args:
        planned: the rows to be.
        config: how to execute.
        environment: where.
        ledger_folder: durable verdicts of this stage, from this and from interrupted runs.
        known: Parquet files of finished verdict tables.
        other_ledgers: ledgers of other unfinished runs, read only.
        confirm_failures: execute what failed again before the failure counts.
        progress: told how many distinct executions are finished.

    Raises:
        ExecutionError: the work could not be finished.
    """
    distinct = {plan.item.verdict_key: plan.item for plan in planned if not plan.blocked_by}
    verdicts = _known_verdicts(known, set(distinct))
    reused = len(verdicts)
    for line in read_ledgers([ledger_folder, *other_ledgers]):
        if line["verdict_key"] in distinct and line["status"] != "infra_error":
            verdicts.setdefault(line["verdict_key"], line)
    if confirm_failures:
        verdicts = {key: found for key, found in verdicts.items() if not is_unconfirmed_failure(found)}
    execute_items(
        [item for key, item in distinct.items() if key not in verdicts],
        config=config,
        environment=environment,
        ledger_folder=ledger_folder,
        confirm_failures=confirm_failures,
        progress=_offset(progress, len(verdicts), len(distinct)),
    )
    lines = list(read_ledger(ledger_folder))
    for line in sorted(lines, key=lambda line: (line["status"] == "infra_error", is_unconfirmed_failure(line))):
        verdicts.setdefault(line["verdict_key"], line)
    missing = distinct.keys() - verdicts.keys()
    if missing:
        raise ExecutionError(
            f"{len(missing)} executions left no verdict in {ledger_folder}: run the same command again"
        )
    table = _table(planned, verdicts, config, environment)
    return table, {"distinct_executions": len(distinct), "reused_verdicts": reused, **_counts(lines, table)}


def _counts(lines: Sequence[dict[str, Any]], table: pa.Table) -> dict[str, int]:
    final = [line for line in lines if line["status"] != "infra_error"]
    return {
        "executed": len(final),
        "executed_twice": len(final) - len(final_keys(final)),
        "infra_errors": sum(status == "infra_error" for status in table["status"].to_pylist()),
    }


def _offset(progress: Progress | None, done: int, total: int) -> Progress:
    def report(finished: int, _todo: int) -> None:
        if progress:
            progress(done + finished, total)

    report(0, 0)
    return report


def _known_verdicts(files: Sequence[Path], keys: set[str]) -> dict[str, dict[str, Any]]:
    if not files or not keys:
        return {}
    wanted = pc.field("verdict_key").isin(pa.array(sorted(keys))) & (pc.field("status") != "infra_error")
    wanted &= pc.field("failure_kind") != "safety_policy"
    found = ds.dataset([str(file) for file in files], schema=VERDICTS).to_table(filter=wanted)
    return {row["verdict_key"]: row for row in found.to_pylist()}


def _table(
    planned: Sequence[Planned],
    verdicts: dict[str, dict[str, Any]],
    config: ExecutionConfig,
    environment: InstalledEnvironment,
) -> pa.Table:
    def rows() -> Iterator[dict[str, Any]]:
        sha = environment.environment_sha
        for plan in planned:
            if plan.blocked_by:
                found = blocked_verdict(plan.item, plan.blocked_by, backend=config.backend, environment_sha=sha)
            else:
                found = verdicts[plan.item.verdict_key]
            owner = {
                "task_id": plan.task_id,
                "sample_index": plan.sample_index,
                "variant": plan.variant,
                "sanitizer": plan.sanitizer,
            }
            yield found | owner

    return pa.Table.from_pylist(list(rows()), schema=VERDICTS)


def _reason(row: dict[str, Any]) -> str:
    first = row["findings"][0] if row["findings"] else {"rule": "safety", "line": 0, "detail": "blocked"}
    return f"blocked by the safety policy: {first['rule']} in line {first['line']}: {first['detail']}"


def _task_modules(task: dict[str, Any]) -> frozenset[str]:
    """Top-level modules that the task's own texts import."""
    modules: set[str] = set()
    for text in (
        task["code_prompt"] + "\n    pass\n",
        task["test"],
        task["complete_prompt"] + task["canonical_solution"],
    ):
        modules.update(_imports(text))
    return frozenset(modules)


def _imports(text: str) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
