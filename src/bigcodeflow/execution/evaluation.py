"""From solutions to verdicts: what has to run, what is already known, and the finished table."""

import sys
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.calibration import calibrate, executed_program, stub_program
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.schemas import VERDICTS, table_of
from bigcodeflow.core.tracebacks import failed_import
from bigcodeflow.environments import Environment
from bigcodeflow.execution.cluster import Cluster
from bigcodeflow.execution.engine import Progress, execute_items
from bigcodeflow.execution.failure_kinds import setup_names
from bigcodeflow.execution.integrity import checks
from bigcodeflow.execution.integrity.contradictions import Contradictions, Reference
from bigcodeflow.execution.items import ANY_IMPORT, Cost, Expectations, WorkItem, expectations, fact_of, work_item
from bigcodeflow.execution.verdicts import (
    ONCE,
    Ledger,
    RerunPolicy,
    Verdict,
    blocked_verdict,
    disputed_keys,
    read_ledgers,
    renewed,
)
from bigcodeflow.execution.zygote_plan import imported_modules
from bigcodeflow.store import LogFiles, Store

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 3
#: What is read of the ground truths before solutions are executed.
GROUND_TRUTH_COLUMNS = ("task_id", "status", "wall_seconds", "max_rss_mib", "module_trace", "tests")


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
    tasks: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    costs: Mapping[str, Cost] = MappingProxyType({}),
) -> list[Planned]:
    """The canonical solutions of TASKS rows, as one calibrated sample a task; ``costs`` by task_id, as far as known."""
    item_of = partial(_item, costs=expectations(costs), config=config, environment=environment)
    return [
        Planned(task["task_id"], 0, "calibrated", "none", item_of(_own_program(task), task, ANY_IMPORT))
        for task in tasks.to_pylist()
    ]


def plan_solutions(
    solutions: pa.Table, tasks: pa.Table, ground_truth: pa.Table, *, config: ExecutionConfig, environment: Environment
) -> list[Planned]:
    """Every solution in every variant that the configuration asks for, in the order of the solutions.

    Args:
        solutions: rows of SOLUTIONS; tasks: rows of TASKS.
        ground_truth: columns GROUND_TRUTH_COLUMNS of the ground truths: the durations to expect, and the imports that
            fail in this environment whatever the program is.
    """
    by_id = {task["task_id"]: task for task in tasks.to_pylist()}
    missing = {row["task_id"]: _missing_imports(row, by_id) for row in ground_truth.to_pylist()}
    item_of = partial(_item, costs=expectations(ground_truth=ground_truth), config=config, environment=environment)
    planned = []
    for row in solutions.to_pylist():
        task, sanitizer, reason = by_id[row["task_id"]], row["sanitizer"], ""
        if row["blocked"]:
            first = row["findings"][0] if row["findings"] else {"rule": "safety", "line": 0, "detail": "blocked"}
            reason = f"blocked by the safety policy: {first['rule']} in line {first['line']}: {first['detail']}"
        for variant in config.variants:
            program = executed_program(
                code_prompt=task["code_prompt"], solution=row["solution"], variant=variant, sanitizer=sanitizer
            )
            item = item_of(program, task, missing.get(row["task_id"], frozenset()))
            planned.append(Planned(row["task_id"], row["sample_index"], variant, sanitizer, item, reason))
    return planned


def plan_references(
    tasks: pa.Table, ground_truth: pa.Table, *, config: ExecutionConfig, environment: Environment
) -> dict[str, Reference]:
    """What passing samples are checked with, by task_id; none where the task's own solution does not pass here."""
    make = partial(_item, costs=expectations(ground_truth=ground_truth), config=config, environment=environment)
    passing = set(ground_truth.filter(pc.field("status") == "pass")["task_id"].to_pylist())

    def item_of(task: dict[str, Any], program: str | None, test: str) -> WorkItem:
        return make(_own_program(task) if program is None else program, task, frozenset(), test=test)

    return {
        task["task_id"]: Reference(task, partial(item_of, task), stub_program(task["code_prompt"]))
        for task in tasks.to_pylist()
        if task["task_id"] in passing
    }


def _item(
    program: str,
    task: dict[str, Any],
    missing_imports: frozenset[str],
    *,
    costs: Expectations,
    config: ExecutionConfig,
    environment: Environment,
    test: str = "",
) -> WorkItem:
    cost, fact = costs(task), fact_of(task)  # those of the task's own test, whichever text is executed
    item = work_item(
        program=program,
        task=task | {"test": test} if test else task,
        missing_imports=missing_imports,
        environment_sha=environment.environment_sha,
        limits=config.limits,
        allow_unisolated=config.allow_unisolated,
        ground_truth_cpu_seconds=fact.cpu_seconds if fact else 0.0,
    )
    names = setup_names(task["code_prompt"])
    return replace(item, expected_seconds=cost.seconds, expected_memory_mib=cost.memory_mib, setup_names=names)


class Checking(NamedTuple):
    """What passing samples are checked with: references by task_id, and what is known of altered tests."""

    references: Mapping[str, Reference]
    known: Contradictions


def judge(
    planned: Sequence[Planned],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    known: Callable[[Collection[str]], list[Verdict]] | None = None,
    other_ledgers: Iterable[Path] = (),
    policy: RerunPolicy = ONCE,
    checking: Checking | None = None,
    progress: Progress | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Execute what is not yet known and return the VERDICTS table with what was counted on the way.

    Args:
        ledger_folder: durable verdicts of this stage, from this and from interrupted runs.
        known: finds published rows of VERDICTS by their keys, such as `VerdictIndex.verdicts`; None: nothing is known.
        other_ledgers: ledgers of other unfinished runs, read only.
        checking: what passing samples are checked with; None: they are not checked.
    """
    distinct = {plan.item.verdict_key: plan.item for plan in planned if not plan.blocked_by}
    published = [renewed(row, distinct[row["verdict_key"]]) for row in (known(distinct.keys()) if known else [])]
    earlier, published = checks.findings_of(published), [checks.unchecked(row) for row in published]
    unpublished = [line for line in read_ledgers(other_ledgers) if line["verdict_key"] in distinct]
    unpublished = [renewed(line, distinct[line["verdict_key"]]) for line in unpublished]
    policy = replace(policy, disputed=disputed_keys([*published, *unpublished])) if policy.reruns else policy
    verdicts = {row["verdict_key"]: row for row in published if policy.answers(row)}
    counts = {"distinct_executions": len(distinct), "reused_verdicts": len(verdicts)}
    verdicts = {line["verdict_key"]: line for line in unpublished if policy.answers(line)} | verdicts
    with Cluster(config) as cluster:
        execute = partial(verdicts_of, config=config, environment=environment, ledger_folder=ledger_folder)
        execute = partial(execute, progress=progress, cluster=cluster)
        verdicts = execute(list(distinct.values()), policy=policy, known=verdicts)
        final = [line["verdict_key"] for line in _lines(ledger_folder, distinct) if line["status"] != "infra_error"]
        counts |= {"executed": len(final), "executed_twice": len(final) - len(set(final))}
        if checking:
            passed = {  # distinct executions, of tasks whose own solution passes
                plan.item.verdict_key: checks.Pass(plan.item, reference)
                for plan in planned
                if not plan.blocked_by and (reference := checking.references.get(plan.task_id))
                if verdicts[plan.item.verdict_key]["status"] == "pass"
            }
            findings = checks.check_passes(list(passed.values()), checking.known, execute, earlier)
            verdicts = checks.applied(verdicts, findings)
    blocked = partial(blocked_verdict, backend=config.backend, environment_sha=environment.environment_sha)
    rows = (
        (blocked(plan.item, plan.blocked_by) if plan.blocked_by else verdicts[plan.item.verdict_key])
        | {name: getattr(plan, name) for name in ("task_id", "sample_index", "variant", "sanitizer")}
        for plan in planned
    )
    table = table_of(rows, schema=VERDICTS)
    # A pass whose check did not come to an end is no verdict yet.
    is_unfinished = (pc.field("status") == "infra_error") | (pc.field("integrity") == checks.UNCHECKED)
    return table, counts | {"infra_errors": table.filter(is_unfinished).num_rows}


def verdicts_of(
    items: Sequence[WorkItem],
    *,
    config: ExecutionConfig,
    environment: Environment,
    ledger_folder: Path,
    policy: RerunPolicy = ONCE,
    known: Mapping[str, Verdict] = MappingProxyType({}),
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> dict[str, Verdict]:
    """Verdicts of items by key: the known ones, those that stand in the ledger, and what is executed now."""
    wanted = {item.verdict_key: item for item in items}
    if not wanted:
        return {}
    settled = [line for line in _lines(ledger_folder, wanted) if policy.settles(line)]
    verdicts = dict(known) | {line["verdict_key"]: line for line in settled}
    todo = [item for key, item in wanted.items() if key not in verdicts]

    def report(finished: int, _todo: int) -> None:
        if progress:
            progress(len(wanted) - len(todo) + finished, len(wanted))

    report(0, 0)
    execute = partial(execute_items, config=config, environment=environment, ledger_folder=ledger_folder)
    execute(todo, policy=policy, progress=report, cluster=cluster)
    lines = _lines(ledger_folder, wanted) if todo else []
    for line in sorted(lines, key=lambda line: (line["status"] == "infra_error", not policy.settles(line))):
        verdicts.setdefault(line["verdict_key"], line)
    if missing := wanted.keys() - verdicts.keys():
        raise ExecutionError(
            f"{len(missing)} executions left no verdict in {ledger_folder}: run the same command again"
        )
    return verdicts


def _lines(folder: Path, wanted: Container[str]) -> list[Verdict]:
    return [line for line in Ledger(folder).read() if line["verdict_key"] in wanted]


def contradiction_coverage(
    tasks: pa.Table,
    ground_truth: pa.Table,
    *,
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    progress: Progress | None = None,
) -> list[checks.Coverage]:
    """How much of each task's test can be contradicted, of tasks whose own solution passes; what is known is reused.

    The store keeps the findings, and the ledger while the work is unfinished.
    """
    references = plan_references(tasks, ground_truth, config=config, environment=environment)
    known = Contradictions(store, environment.environment_sha)
    ledger_folder = store.workspace("contradictions", environment.environment_sha)
    with store.synchronized(ledger_folder, LogFiles.VERDICTS), Cluster(config) as cluster:
        execute = partial(verdicts_of, config=config, environment=environment, ledger_folder=ledger_folder)
        found = checks.coverage(references.values(), known, partial(execute, progress=progress, cluster=cluster))
    store.discard(ledger_folder)
    return found


def _missing_imports(truth: dict[str, Any], tasks: Mapping[str, dict[str, Any]]) -> frozenset[str]:
    """Imports that fail in the task's own solution; where that could not be judged, also its libraries.

    A solution may import several libraries that the environment lacks in another order than the ground truth, which
    ends at the first.
    """
    traces = [truth["module_trace"], *(test["trace"] for test in truth["tests"])]
    failed = frozenset(map(failed_import, traces)) - {""}
    task = tasks.get(truth["task_id"])
    if task is not None and truth["status"] == "infra_error":
        failed |= imported_modules(_own_program(task), task["test"]) - sys.stdlib_module_names
    return failed


def _own_program(task: dict[str, Any]) -> str:
    return calibrate(task["code_prompt"], task["complete_prompt"] + task["canonical_solution"])
