"""Compute totals, ratios, estimates and Markdown tables from the measurements of ``sandbox.py``; measure nothing."""

import heapq
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Run = Mapping[str, Any]
"""One measured command: kind, side, name, wall_seconds, cpu_seconds, …, rows (one per task or execution)."""

_MOST_LISTED = 40


class Recorded(NamedTuple):
    """Figures of a task from an earlier measurement: for ordering, sampling and extrapolation only."""

    original_wall_seconds: float
    suite_wall_seconds: float
    suite_cpu_seconds: float
    status: str


class Estimate(NamedTuple):
    """Cost of the original for all tasks, of which some were measured."""

    wall_seconds: float
    """One call on all tasks in the dataset's order: the time of each check, replayed on that many workers."""
    cpu_seconds: float
    measured_tasks: int
    tasks: int


class Goal(NamedTuple):
    """A figure and its target."""

    value: float
    text: str
    bound: float
    at_least: bool

    def cells(self) -> list[str]:
        met = self.value >= self.bound if self.at_least else self.value <= self.bound
        sign = "at least" if self.at_least else "at most"
        return [self.text, f"{self.value:.2f}", f"{sign} {self.bound:g}", "yes" if met else "no"]


def every_kth(ids: Sequence[str], recorded: Mapping[str, Recorded], step: int) -> list[str]:
    """Return every step-th task in order of the original's recorded time, beginning in the middle of the first step."""
    ordered = sorted(ids, key=lambda task_id: (recorded[task_id].original_wall_seconds, task_id))
    return ordered[(step - 1) // 2 :: step]


def dealt(ids: Sequence[str], recorded: Mapping[str, Recorded], blocks: int) -> list[list[str]]:
    """Deal ids into blocks of about equal duration, each with short and long tasks; keep the ids' order in a block.

    The longest task goes to the block with the least time so far, and so on down; tasks that take no time go to the
    block with the fewest tasks, so that none stays empty.
    """
    loads = [(0.0, 0, number) for number in range(min(blocks, len(ids)))]
    chosen: list[set[str]] = [set() for _ in loads]
    for task_id in sorted(ids, key=lambda task_id: (-recorded[task_id].original_wall_seconds, task_id)):
        load, tasks, number = heapq.heappop(loads)
        chosen[number].add(task_id)
        heapq.heappush(loads, (load + recorded[task_id].original_wall_seconds, tasks + 1, number))
    return [[task_id for task_id in ids if task_id in block] for block in chosen]


def replayed_seconds(walls: Sequence[float], workers: int) -> float:
    """Return the time until the last piece of work ends; each is started in turn by the first worker that is free."""
    free_at = [0.0] * workers
    for wall in walls:
        heapq.heapreplace(free_at, free_at[0] + wall)
    return max(free_at)


def estimate(
    rows: Mapping[str, Row], ids: Sequence[str], recorded: Mapping[str, Recorded], *, workers: int
) -> Estimate:
    """Estimate the cost of the original's checks of all ids, in that order, from the measured ones.

    An unmeasured check is assumed to cost the recorded time of its tests plus the mean cost of the measured checks
    beyond their tests, but no more wall time than the original's recorded time; if the recorded verdict is a timeout,
    the wall time is the recorded time. Measured timeouts are ignored when other checks are estimated.
    """
    plain = [name for name in rows if "timeout" not in (recorded[name].status, rows[name]["status"])]
    more_wall, more_cpu = (
        statistics.mean(rows[name][mine] - getattr(recorded[name], theirs) for name in plain) if plain else 0.0
        for mine, theirs in (("wall_seconds", "suite_wall_seconds"), ("cpu_seconds", "suite_cpu_seconds"))
    )
    walls, cpu_seconds = [], 0.0
    for name in ids:
        known = recorded[name]
        if name in rows:
            walls.append(rows[name]["wall_seconds"])
            cpu_seconds += rows[name]["cpu_seconds"]
        else:
            timeout = known.status == "timeout"
            likely = math.inf if timeout else known.suite_wall_seconds + more_wall
            walls.append(min(known.original_wall_seconds, likely))
            cpu_seconds += known.suite_cpu_seconds + more_cpu
    return Estimate(replayed_seconds(walls, workers), cpu_seconds, sum(name in rows for name in ids), len(ids))


def without_timeouts(
    rows: Mapping[str, Row], ids: Sequence[str], recorded: Mapping[str, Recorded]
) -> tuple[dict[str, Row], list[str]]:
    """Return rows and ids without those that ran into the time limit: measured here or, if not measured, recorded."""
    kept = [name for name in ids if (rows[name]["status"] if name in rows else recorded[name].status) != "timeout"]
    return {name: rows[name] for name in kept if name in rows}, kept


def rows_by_task(runs: Sequence[Run]) -> dict[str, Row]:
    """Return the rows of several runs by task; the first execution of a task counts."""
    found: dict[str, Row] = {}
    for run in runs:
        for row in run["rows"]:
            found.setdefault(row["task_id"], row)
    return found


def suite_cpu(rows: Sequence[Row]) -> tuple[float, bool]:
    """Return the CPU time of the tests and True if it was measured; else the sandboxes' total CPU time and False."""
    is_measured = all(row["test_cpu_seconds"] is not None for row in rows)
    name = "test_cpu_seconds" if is_measured else "cpu_seconds"
    return sum(row[name] for row in rows), is_measured


def floor_seconds(runs: Sequence[Run], task_ids: Sequence[str], cores: int) -> float:
    """Return a lower bound of any schedule: all the tests' CPU time spread over the cores, or the longest test.

    Each task counts with its quickest run: other work on the machine makes tests last longer, and would raise the bound
    together with the pass that is compared with it.
    """
    wanted = set(task_ids)
    cpu, wall = {}, {}
    for run in runs:
        for row in run["rows"]:
            if (name := row["task_id"]) in wanted:
                cpu[name] = min(cpu.get(name, math.inf), suite_cpu([row])[0])
                wall[name] = min(wall.get(name, math.inf), row["test_seconds"])
    return max(sum(cpu.values()) / cores, *wall.values())


def median_ratio(theirs: Mapping[str, Row], ours: Mapping[str, Row]) -> float:
    """Return the median of the original's wall time over ours, over the tasks that passed on both sides.

    A check that gave up early, or hung, would make either side look fast.
    """
    passed = [name for name in theirs if name in ours and theirs[name]["status"] == ours[name]["status"] == "pass"]
    ratios = [theirs[name]["wall_seconds"] / ours[name]["wall_seconds"] for name in passed]
    return statistics.median(ratios) if ratios else math.nan


def median_of(rows: Mapping[str, Row], name: str) -> float:
    """Return the median of one column."""
    return statistics.median(row[name] for row in rows.values())


def table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    cells = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in cells) + "\n"


def block_table(blocks: Sequence[tuple[Run, Run]]) -> str:
    """Return the table of pairs of measured blocks, the original's first."""
    lines = [
        [
            theirs["name"],
            len(theirs["rows"]),
            *(f"{run['wall_seconds']:.1f} ({run['load_before']:.1f})" for run in (theirs, ours)),
            f"{theirs['wall_seconds'] / ours['wall_seconds']:.2f}",
            *(f"{run['cpu_seconds']:.1f}" for run in (theirs, ours)),
            f"{median_ratio(rows_by_task([theirs]), rows_by_task([ours])):.1f}",
        ]
        for theirs, ours in blocks
    ]
    head = ["block", "tasks", "original, s (load before)", "here, s (load before)", "ratio"]
    return table([*head, "original, CPU s", "here, CPU s", "median task, ratio"], lines)


def differing(theirs: Mapping[str, Row], ours: Mapping[str, Row]) -> list[str]:
    """List the tasks that passed on one side only, as 'task: there, here'."""
    return [
        f"{task_id}: {theirs[task_id]['status']}, {ours[task_id]['status']}"
        for task_id in theirs
        if task_id in ours and (theirs[task_id]["status"] == "pass") != (ours[task_id]["status"] == "pass")
    ]


def listed(texts: Sequence[str]) -> str:
    """Return texts as a Markdown list; a long list is shortened."""
    more = [f"… and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return "\n".join(f"- {text}" for text in [*texts[:_MOST_LISTED], *more]) or "- none"


def scaling_table(runs: Sequence[Run]) -> str:
    """Return a table of the cost of one execution by the number of executions."""
    lines = []
    for run in runs:
        number = len(run["rows"])
        tests, _ = suite_cpu(run["rows"])
        used = [run["cpu_seconds"], tests, run["cpu_seconds"] - tests, run["wall_seconds"]]
        passed = sum(row["status"] == "pass" for row in run["rows"])
        lines.append(
            [f"{number:,}", *(f"{1000 * one / number:.1f}" for one in used), f"{run['peak_memory_mib']:,.0f}", passed]
        )
    head = ["executions", "CPU, ms each", "of that the tests", "beyond the tests", "wall, ms each"]
    return table([*head, "peak memory, MiB", "passed"], lines)


def load_report(idle: Run, loaded: Run) -> str:
    """Compare the verdicts of the same executions on an idle and on a loaded machine."""
    before, after = ({row["task_id"]: row for row in run["rows"]} for run in (idle, loaded))
    changed = [
        f"{task_id}: {before[task_id]['status']} idle, {after[task_id]['status']} loaded"
        for task_id in before
        if before[task_id]["status"] != after[task_id]["status"]
    ]
    figures = [
        [run["name"], len(run["rows"]), f"{run['wall_seconds']:.1f}", f"{run['cpu_seconds']:.1f}"]
        for run in (idle, loaded)
    ]
    shown = table(["pass", "tasks", "wall, s", "CPU, s"], figures)
    return f"{shown}\n{len(changed)} of {len(before)} verdicts differ:\n\n{listed(changed)}\n"
