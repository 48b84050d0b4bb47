"""Run one pass of ground truths through this project's engine, in a separate process, so that it can be measured.

    python sandbox_pass.py FOLDER

FOLDER holds tasks.parquet, as the dataset stage writes it, and job.json (the fields of Job). result.json is written
there: one row per execution. The process starts its cluster and everything else itself and ends when all is done.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.environments import find_environment
from bigcodeflow.execution.engine import Engine
from bigcodeflow.execution.evaluation import Planned, plan_ground_truths
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import RerunPolicy
from bigcodeflow.execution.workers import Workers


class Job(NamedTuple):
    """Settings of the pass."""

    workers: int
    slots: int = 0
    """Concurrent executions of a worker; 0 uses the setting's default."""
    executions: int = 0
    """Executions in all, each with a different program; 0 executes every task once."""
    confirms: bool = True
    """Execute failures again, as the ground-truth stage does."""
    slice_size: int = 0
    """Executions handed to the engine at a time, which limits memory and disk; 0: all at once."""


class Execution(NamedTuple):
    """One execution: its task, its sample number, and its work item."""

    task_id: str
    sample: int
    item: WorkItem


def main() -> None:
    folder = Path(sys.argv[1])
    job = Job(**json.loads((folder / "job.json").read_text()))
    environment = find_environment("bigcodebench")
    chosen: dict[str, Any] = {"slots_per_worker": job.slots} if job.slots else {}
    config = ExecutionConfig(environment="bigcodebench", workers=job.workers, **chosen)
    planned = plan_ground_truths(pq.read_table(folder / "tasks.parquet"), config=config, environment=environment)
    executions = distinct_executions(repeated(planned, job.executions or len(planned)))
    rows: list[dict[str, Any]] = []
    with Workers(config, environment) as workers:
        while part := list(islice(executions, job.slice_size or None)):
            with (
                tempfile.TemporaryDirectory(dir=folder) as ledger,
                Engine(config, environment, Path(ledger), workers=workers) as engine,
            ):
                policy = RerunPolicy(confirms_ground_truths=job.confirms)
                found = engine.verdicts([execution.item for execution in part], policy)
            rows += result_rows(part, found.values())
    (folder / "result.json").write_text(json.dumps(rows))


def repeated(planned: list[Planned], executions: int) -> list[tuple[Planned, int]]:
    """Return plans with sample numbers: an evenly spread part of the plans, or all of them repeated.

    Args:
        planned: one plan per task, in an order whose even parts are alike.
        executions: length of the result.
    """
    count = len(planned)
    if executions < count:
        return [(planned[number * count // executions], 0) for number in range(executions)]
    return [(planned[number % count], number // count) for number in range(executions)]


def distinct_executions(plans: Iterable[tuple[Planned, int]]) -> Iterator[Execution]:
    """Yield executions with distinct keys: a program that occurred before gets a comment that makes it different."""
    keys = set()
    for plan, sample in plans:
        item = plan.item
        if item.verdict_key in keys:
            mark = f"{plan.task_id} sample {sample}"
            key = hashlib.sha256(f"{item.verdict_key} {mark}".encode()).hexdigest()
            item = replace(item, program=f"{item.program}\n# {mark}", verdict_key=key)
        keys.add(item.verdict_key)
        yield Execution(plan.task_id, sample, item)


def result_rows(executions: Iterable[Execution], verdicts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns that the comparison needs from each execution's last verdict, in the executions' order.

    ``test_cpu_seconds`` is null if verdicts do not contain the time of the tests alone.
    """
    by_key = {verdict["verdict_key"]: verdict for verdict in verdicts}
    rows = []
    for task_id, sample, item in executions:
        verdict = by_key[item.verdict_key]
        rows.append(
            {
                "task_id": task_id,
                "sample": sample,
                "test_seconds": round(sum(test["seconds"] for test in verdict["tests"]), 4),
                "test_cpu_seconds": verdict.get("test_cpu_seconds"),
                **{
                    name: verdict[name]
                    for name in ("status", "failure_kind", "wall_seconds", "cpu_seconds", "max_rss_mib", "attempts")
                },
            }
        )
    return rows


if __name__ == "__main__":
    main()
