"""Scores of a run on the verified view, computed from its verdicts on the original tasks, without any execution.

Only verdicts of tasks whose prompts and test are unchanged in the verified view count; other verdicts are ignored.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.errata import is_judged_alike
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.table import Column, Table
from bigcodeflow.results.formatting import percent, percent_range
from bigcodeflow.results.statistics import Estimate, estimate

_TASK_COLUMNS = ["task_id", "complete_prompt", "canonical_solution", "test"]
_VERDICT_COLUMNS = ["task_id", "variant", "sanitizer", "status"]


class VerifiedScore(NamedTuple):
    """pass@1 of one variant and sanitizer, on all tasks and on the verified tasks."""

    variant: str
    sanitizer: str
    original: Estimate
    verified: Estimate


def judged_alike(dataset: Path) -> frozenset[str]:
    """Return ids of tasks whose prompts and test are unchanged in the verified view: their verdicts stay valid."""
    tasks = read_artifact(dataset, _TASK_COLUMNS).to_pylist()
    return frozenset(task["task_id"] for task in tasks if is_judged_alike(task))


def verified_scores(dataset: Path, execution: Path) -> list[VerifiedScore]:
    """Return original and verified score for each variant and sanitizer; empty if the verified view changes no task.

    Samples that could not be judged are left out.
    """
    tasks = [task["task_id"] for task in read_artifact(dataset, ["task_id"]).to_pylist()]
    alike = judged_alike(dataset)
    if len(alike) == len(tasks):
        return []
    counted: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in read_artifact(execution, _VERDICT_COLUMNS).to_pylist():
        if row["status"] != "infra_error":
            counted[row["variant"], row["sanitizer"]][row["task_id"]].append(row["status"] == "pass")
    return [
        VerifiedScore(*kind, _estimate(by_task, tasks), _estimate(by_task, alike)) for kind, by_task in counted.items()
    ]


def verified_table(scores: Iterable[VerifiedScore]) -> Table:
    """Return a table with the original and the verified score side by side; without scores, it has no rows."""
    numbers = ("original", "95 % interval", "tasks", "verified", "95 % interval", "tasks")
    cells = [(one.variant, one.sanitizer, *_cells(one.original), *_cells(one.verified)) for one in scores]
    columns: list[str | Column] = ["variant", "sanitizer", *(Column(name, "right", wrap="never") for name in numbers)]
    return Table.of(columns, cells, title="pass@1 on the original and on the verified tasks")


def _cells(found: Estimate) -> tuple[str, str, int]:
    return percent(found.value), percent_range(found.interval), found.n_tasks


def _estimate(by_task: Mapping[str, list[bool]], tasks: Iterable[str]) -> Estimate:
    return estimate([sum(by_task[task]) / len(by_task[task]) for task in sorted(tasks) if by_task.get(task)])
