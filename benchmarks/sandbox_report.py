"""Write the report of ``sandbox.py``: measured figures, extrapolated figures, and the state of the goals."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sandbox_tables as tables
from sandbox_tables import Estimate, Goal, Recorded, Row, Run

GOAL_WALL, GOAL_MEDIAN, GOAL_FLOOR, GOAL_OVERHEAD_MS = 7.0, 15.0, 1.2, 35.0


class Sides(NamedTuple):
    """Runs of the comparison, put in order."""

    original: list[Run]
    ours: list[Run]
    whole: list[Run]
    """Our passes over all tasks, the slowest first."""


def report(runs: Sequence[Run], ids: Sequence[str], recorded: Mapping[str, Recorded], *, workers: int) -> str:
    """Return Markdown of all measurements."""
    kinds = {run["kind"] for run in runs}
    if "scaling" in kinds:
        return _scaling(runs)
    if "load" in kinds:
        return "### Verdicts under load\n\n" + tables.load_report(runs[0], runs[1])
    sides = _sides(runs)
    parts = [_method(sides, ids, workers)]
    pairs = [(one, two) for one in sides.original for two in sides.ours if one["name"] == two["name"]]
    if sides.original and sides.whole:
        parts.append(_comparison(sides, ids, recorded, workers))
    elif sides.original:
        parts.append(_original_alone(sides.original, ids, recorded, workers))
    elif sides.whole:
        parts.append(_ours_alone(sides.whole))
    if pairs:
        parts.append("### Blocks\n\n" + tables.block_table(pairs))
        parts.append(_pairs(pairs))
    return "\n".join(parts)


def _sides(runs: Sequence[Run]) -> Sides:
    blocks = sorted((run for run in runs if run["kind"] == "block"), key=lambda run: int(run["name"].partition(" ")[0]))
    whole = sorted((run for run in runs if run["kind"] == "whole"), key=lambda run: -run["wall_seconds"])
    return Sides(*([run for run in blocks if run["side"] == side] for side in ("original", "ours")), whole)


def _method(sides: Sides, ids: Sequence[str], workers: int) -> str:
    sampled = len(tables.rows_by_task(sides.original or sides.ours))
    loads = [run["load_before"] for run in (*sides.original, *sides.ours, *sides.whole)]
    sources = sorted({run["cpu_source"] for run in (*sides.original, *sides.ours, *sides.whole)})
    first = (
        f"{len(ids)} ground truths, {workers} workers, {os.cpu_count()} cores; CPU time by {' and '.join(sources)}; "
        f"load average before the measurements {min(loads):.1f} to {max(loads):.1f}."
    )
    lines = [first]
    if sides.original and sampled < len(ids):
        lines.append(
            f"The original was measured on {sampled} tasks, every {len(ids) / sampled:.0f}th in order of duration. Its "
            f"figures for all {len(ids)} are extrapolated: a task that was not measured is taken to cost its tests' "
            "recorded time and the mean of what the measured ones cost beyond theirs, but no more than was recorded."
        )
    if any(run["uncompiled"] for run in sides.original):
        lines.append("The original ran without its libraries' compiled bytecode.")
    return "### Ground truths, here and in the original\n\n" + "\n".join(lines) + "\n"


def _comparison(sides: Sides, ids: Sequence[str], recorded: Mapping[str, Recorded], workers: int) -> str:
    theirs = tables.rows_by_task(sides.original)
    whole = sides.whole[0]
    estimate = tables.estimate(theirs, ids, recorded, workers=workers)
    start = min(run["start_seconds"] for run in sides.original)
    start_cpu = min(run["start_cpu_seconds"] for run in sides.original)
    their_wall, their_cpu = estimate.wall_seconds + start, estimate.cpu_seconds + start_cpu
    tests, is_measured = tables.suite_cpu(whole["rows"])
    floor = tables.floor_seconds([*sides.ours, *sides.whole], ids, os.cpu_count() or 1)
    number = len(ids)
    kept = tables.without_timeouts(theirs, ids, recorded)
    quick_wall = tables.estimate(*kept, recorded, workers=workers).wall_seconds + start
    beyond = [1000 * (used - tests) / number for used in (their_cpu, whole["cpu_seconds"])]
    rows = [
        ["whole pass, wall s", f"{their_wall:.0f}", _walls(sides.whole), f"{their_wall / whole['wall_seconds']:.2f}"],
        _line(f"without the original's {number - len(kept[1])} timeouts", quick_wall, whole["wall_seconds"], 1),
        _line("whole pass, CPU s", their_cpu, whole["cpu_seconds"], 1),
        _line("CPU a sample, ms", 1000 * their_cpu / number, 1000 * whole["cpu_seconds"] / number, 1),
        _line("of that beyond the tests, ms", *beyond, 1),
        ["the tests' own CPU, s", f"{tests:.0f}", f"{tests:.0f}", ""],
        ["floor of the pass, s", f"{floor:.0f}", f"{floor:.0f}", ""],
        _line("wall over the floor", their_wall / floor, whole["wall_seconds"] / floor, 2),
        ["passed", *(_passed(side) for side in (theirs, tables.rows_by_task([whole]))), ""],
    ]
    medians = [tables.median_ratio(theirs, tables.rows_by_task(runs)) for runs in (sides.ours, [whole])]
    goals = [
        Goal(their_wall / whole["wall_seconds"], "whole pass, original over here", GOAL_WALL, at_least=True),
        Goal(medians[0], "median task, original over here, one sample a worker", GOAL_MEDIAN, at_least=True),
        Goal(whole["wall_seconds"] / floor, "whole pass over the floor", GOAL_FLOOR, at_least=False),
        Goal(beyond[1], "CPU beyond the tests, ms a sample", GOAL_OVERHEAD_MS, at_least=False),
    ]
    blocks = (
        f"The original's blocks together: {sum(run['wall_seconds'] for run in sides.original):.0f} s of wall, "
        f"{sum(run['cpu_seconds'] for run in sides.original):.0f} s of CPU, with {len(sides.original)} imports. "
        f"Median task against the whole pass, where more samples run at once: {medians[1]:.1f}."
    )
    return "\n".join(
        [
            tables.table(["", f"original{_kind(estimate)}", "here", "ratio"], rows),
            tables.table(["goal", "measured", "asked", "met"], [goal.cells() for goal in goals]),
            blocks,
            _caveat(is_measured=is_measured),
            _differing(theirs, tables.rows_by_task([whole])),
        ]
    )


def _pairs(pairs: Sequence[tuple[Run, Run]]) -> str:
    """Add up the blocks: the same tasks, all measured, on both sides."""
    theirs, ours = (tables.rows_by_task(side) for side in zip(*pairs, strict=True))
    walls = [sum(run["wall_seconds"] for run in side) for side in zip(*pairs, strict=True)]
    used = [sum(run["cpu_seconds"] for run in side) for side in zip(*pairs, strict=True)]
    tests, is_measured = tables.suite_cpu(list(ours.values()))
    number = len(theirs)
    rows = [
        _line("wall s", *walls, 1),
        _line("CPU s", *used, 1),
        _line("CPU a sample, ms", *(1000 * one / number for one in used), 1),
        _line("of that beyond the tests, ms", *(1000 * (one - tests) / number for one in used), 1),
        ["median task, wall ratio", "", "", f"{tables.median_ratio(theirs, ours):.1f}"],
    ]
    return "\n".join(
        [
            f"### All {len(pairs)} blocks ({number} tasks), with the start of either side in every block\n",
            tables.table(["", "original", "here", "ratio"], rows),
            _caveat(is_measured=is_measured),
            _differing(theirs, ours),
        ]
    )


def _differing(theirs: Mapping[str, Row], ours: Mapping[str, Row]) -> str:
    return f"\nVerdicts that differ (there, here):\n\n{tables.listed(tables.differing(theirs, ours))}\n"


def _original_alone(runs: Sequence[Run], ids: Sequence[str], recorded: Mapping[str, Recorded], workers: int) -> str:
    rows = tables.rows_by_task(runs)
    estimate = tables.estimate(rows, ids, recorded, workers=workers)
    start = min(run["start_seconds"] for run in runs)
    kept = tables.without_timeouts(rows, ids, recorded)
    quick_wall = tables.estimate(*kept, recorded, workers=workers).wall_seconds + start
    return tables.table(
        ["", f"original{_kind(estimate)}"],
        [
            ["whole pass, wall s", f"{estimate.wall_seconds + start:.0f}"],
            [f"without its {len(ids) - len(kept[1])} timeouts", f"{quick_wall:.0f}"],
            ["whole pass, CPU s", f"{estimate.cpu_seconds:.0f}"],
            ["median task, wall s", f"{tables.median_of(rows, 'wall_seconds'):.3f}"],
            ["median task, CPU s", f"{tables.median_of(rows, 'cpu_seconds'):.3f}"],
            ["blocks together, wall s", f"{sum(run['wall_seconds'] for run in runs):.0f}"],
            ["passed", _passed(rows)],
        ],
    )


def _ours_alone(whole: Sequence[Run]) -> str:
    slowest = whole[0]
    tests, is_measured = tables.suite_cpu(slowest["rows"])
    number = len(slowest["rows"])
    floor = tables.floor_seconds(whole, [row["task_id"] for row in slowest["rows"]], os.cpu_count() or 1)
    rows = [
        ["whole pass, wall s", _walls(whole)],
        ["whole pass, CPU s", f"{slowest['cpu_seconds']:.1f}"],
        ["CPU beyond the tests, ms a sample", f"{1000 * (slowest['cpu_seconds'] - tests) / number:.1f}"],
        ["floor, s", f"{floor:.1f}"],
        ["wall over the floor", f"{slowest['wall_seconds'] / floor:.2f}"],
        ["passed", _passed(tables.rows_by_task([slowest]))],
    ]
    return tables.table(["", "here"], rows) + "\n" + _caveat(is_measured=is_measured)


def _scaling(runs: Sequence[Run]) -> str:
    _, is_measured = tables.suite_cpu(runs[0]["rows"])
    tasks = len({row["task_id"] for run in runs for row in run["rows"]})
    return (
        "### Cost of an execution by their number\n\n"
        f"Ground truths of {tasks} tasks whose tests are short and pass, each execution a program of its own by a "
        "comment at its end. Start of the cluster and of warm parents included. Memory is the largest sum of "
        "proportional set sizes over all processes, looked at once a second.\n\n"
        f"{tables.scaling_table(runs)}\n{_caveat(is_measured=is_measured)}\n"
    )


def _line(name: str, theirs: float, ours: float, digits: int) -> list[str]:
    return [name, f"{theirs:.{digits}f}", f"{ours:.{digits}f}", f"{theirs / ours:.2f}" if ours > 0 else ""]


def _walls(whole: Sequence[Run]) -> str:
    return " and ".join(f"{run['wall_seconds']:.1f}" for run in whole)


def _passed(rows: Mapping[str, Row]) -> str:
    return f"{sum(row['status'] == 'pass' for row in rows.values())} of {len(rows)}"


def _kind(estimate: Estimate) -> str:
    if estimate.measured_tasks == estimate.tasks:
        return " (measured)"
    return f" (extrapolated from {estimate.measured_tasks} of {estimate.tasks})"


def _caveat(*, is_measured: bool) -> str:
    if is_measured:
        return "The tests' own CPU time was measured inside, in the same executions as the rest."
    return (
        "These verdicts do not tell what the tests alone took: all CPU time of each sandbox stands in for it, so the "
        "floor is too high and what lies beyond the tests too low."
    )
