"""From solutions to verdicts: what has to run, what is already known, and the finished table."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bigcodeflow.calibration import calibrate, executed_program
from bigcodeflow.config import ExecutionConfig
from bigcodeflow.environments import Environment
from bigcodeflow.errors import ExecutionError
from bigcodeflow.execution.engine import Progress, execute_items
from bigcodeflow.execution.expectations import Expectations, expectations, fact_of
from bigcodeflow.execution.failure_kinds import setup_names
from bigcodeflow.execution.imports import imported_modules
from bigcodeflow.execution.items import ANY_IMPORT, WorkItem, work_item
from bigcodeflow.execution.ledger import final_keys, read_ledger, read_ledgers
from bigcodeflow.execution.planning import LONG_SECONDS
from bigcodeflow.execution.reruns import ONCE, RerunPolicy, disputed_keys, worth_another_round
from bigcodeflow.execution.verdicts import blocked_verdict, renewed
from bigcodeflow.schemas import VERDICTS, table_of
from bigcodeflow.traces import failed_import

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 2
#: What is read of the ground truths before solutions are executed.
GROUND_TRUTH_COLUMNS = ("task_id", "status", "wall_seconds", "max_rss_mib", "module_trace", "tests")
#: Further rounds, each on fresh workers, for what a lost worker or a broken sandbox left unjudged.
_FURTHER_ROUNDS = 2


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


def plan_ground_truths(
    tasks: pa.Table, *, config: ExecutionConfig, environment: Environment, known: Sequence[Path] = ()
) -> list[Planned]:
    """The canonical solutions, as one calibrated sample a task.

    Args:
        tasks: rows of the TASKS schema.
        config: limits and variants.
        environment: where they will run.
        known: Parquet files of finished verdict tables, for the durations to expect.
    """
    costs = expectations(known)
    planned = []
    for task in tasks.to_pylist():
        item = _item(_own_program(task), task, ANY_IMPORT, costs, config=config, environment=environment)
        planned.append(Planned(task["task_id"], 0, "calibrated", "none", item))
    return planned


def plan_solutions(
    solutions: pa.Table,
    tasks: pa.Table,
    ground_truth: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
) -> list[Planned]:
    """Every solution in every variant that the configuration asks for, in the order of the solutions.

    Args:
        solutions: rows of the SOLUTIONS schema.
        tasks: rows of the TASKS schema.
        ground_truth: columns GROUND_TRUTH_COLUMNS of the ground truths: the durations to expect, and the imports that
            fail in this environment whatever the program is.
        config: limits and variants.
        environment: where they will run.
    """
    by_id = {task["task_id"]: task for task in tasks.to_pylist()}
    missing = {row["task_id"]: _missing_imports(row, by_id) for row in ground_truth.to_pylist()}
    costs = expectations((), ground_truth)
    planned = []
    for row in solutions.to_pylist():
        task = by_id[row["task_id"]]
        for variant in config.variants:
            program = executed_program(
                code_prompt=task["code_prompt"],
                solution=row["solution"],
                variant=variant,
                sanitizer=row["sanitizer"],
            )
            item = _item(
                program, task, missing.get(row["task_id"], frozenset()), costs, config=config, environment=environment
            )
            reason = _reason(row) if row["blocked"] else ""
            planned.append(Planned(row["task_id"], row["sample_index"], variant, row["sanitizer"], item, reason))
    return planned


def _item(
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    costs: Expectations,
    *,
    config: ExecutionConfig,
    environment: Environment,
) -> WorkItem:
    cost, fact = costs.of(task), fact_of(task)
    return work_item(
        program=program,
        task=task,
        missing_imports=missing_imports,
        environment_sha=environment.environment_sha,
        limits=config.limits,
        allow_unisolated=config.allow_unisolated,
        ground_truth_cpu_seconds=fact.cpu_seconds if fact else 0.0,
        expected_seconds=cost.seconds,
        expected_memory_mib=cost.memory_mib,
        setup_names=setup_names(task["code_prompt"]),
    )


def judge(
    planned: Sequence[Planned],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    known: Sequence[Path],
    other_ledgers: Iterable[Path] = (),
    policy: RerunPolicy = ONCE,
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
        policy: what is executed more than once.
        progress: told how many distinct executions are finished.

    Raises:
        ExecutionError: the work could not be finished.
    """
    distinct = {plan.item.verdict_key: plan.item for plan in planned if not plan.blocked_by}
    unpublished = [line for line in read_ledgers(other_ledgers) if line["verdict_key"] in distinct]
    published, unpublished = (
        [renewed(row, distinct[row["verdict_key"]]) for row in rows]
        for rows in (_known_verdicts(known, set(distinct)), unpublished)
    )
    if policy.reruns:
        policy = replace(policy, disputed=disputed_keys([*published, *unpublished]))
    verdicts = {row["verdict_key"]: row for row in published if policy.answers(row)}
    reused = len(verdicts)
    verdicts = {line["verdict_key"]: line for line in unpublished if policy.answers(line)} | verdicts
    own = [line for line in read_ledger(ledger_folder) if line["verdict_key"] in distinct]
    verdicts |= {line["verdict_key"]: line for line in own if policy.settles(line)}
    execute_patiently(
        [item for key, item in distinct.items() if key not in verdicts],
        config=config,
        environment=environment,
        ledger_folder=ledger_folder,
        policy=policy,
        progress=_offset(progress, len(verdicts), len(distinct)),
    )
    lines = list(read_ledger(ledger_folder))
    for line in sorted(lines, key=lambda line: (line["status"] == "infra_error", not policy.settles(line))):
        verdicts.setdefault(line["verdict_key"], line)
    missing = distinct.keys() - verdicts.keys()
    if missing:
        raise ExecutionError(
            f"{len(missing)} executions left no verdict in {ledger_folder}: run the same command again"
        )
    table = _table(planned, verdicts, config, environment)
    return table, {"distinct_executions": len(distinct), "reused_verdicts": reused, **_counts(lines, table)}


def execute_patiently(
    items: Sequence[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    policy: RerunPolicy = ONCE,
    progress: Progress | None = None,
) -> None:
    """Execute every item, and in further rounds what was left unjudged for a reason that may have gone by then.

    Each verdict is in the ledger folder when this returns, an infra_error where it persisted.

    Raises:
        ExecutionError: the cluster could not be reached, or was lost for good.
    """
    execute_items(
        items, config=config, environment=environment, ledger_folder=ledger_folder, policy=policy, progress=progress
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


def _known_verdicts(files: Sequence[Path], keys: set[str]) -> list[dict[str, Any]]:
    if not files or not keys:
        return []
    wanted = pc.field("verdict_key").isin(pa.array(sorted(keys))) & (pc.field("status") != "infra_error")
    wanted &= pc.field("failure_kind") != "safety_policy"
    found = ds.dataset([str(file) for file in files], schema=VERDICTS).to_table(filter=wanted)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def _table(
    planned: Sequence[Planned],
    verdicts: dict[str, dict[str, Any]],
    config: ExecutionConfig,
    environment: Environment,
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

    return table_of(rows(), schema=VERDICTS)


def _reason(row: dict[str, Any]) -> str:
    first = row["findings"][0] if row["findings"] else {"rule": "safety", "line": 0, "detail": "blocked"}
    return f"blocked by the safety policy: {first['rule']} in line {first['line']}: {first['detail']}"


def _missing_imports(truth: dict[str, Any], tasks: Mapping[str, dict[str, Any]]) -> frozenset[str]:
    """Imports that fail in the task's own solution; where that could not be judged, also its libraries.

    A solution may import several libraries that the environment lacks in another order than the ground truth, which
    ends at the first.
    """
    traces = [truth["module_trace"], *(test["trace"] for test in truth["tests"])]
    failed = frozenset(map(failed_import, traces)) - {""}
    task = tasks.get(truth["task_id"])
    if task is None or truth["status"] != "infra_error":
        return failed
    return failed | (imported_modules(_own_program(task), task["test"]) - sys.stdlib_module_names)


def _own_program(task: dict[str, Any]) -> str:
    return calibrate(task["code_prompt"], task["complete_prompt"] + task["canonical_solution"])
