"""Measure whole runs on recorded answers, here and in the original: wall and CPU time, and verdicts that differ.

    python benchmarks/first_result.py --data ../shared --out FOLDER               # all, about three hours on two cores
    python benchmarks/first_result.py --data ../shared --out FOLDER --only hard,further --ids 0-59
    python benchmarks/first_result.py --data ../shared --out FOLDER --only qwen,gemma --sides first \
        --set execution.limits.time_policy=scaled
    python benchmarks/first_result.py --compare FOLDER FOLDER                          # verdicts that differ

    hard      a first run: a strong model's answers to BigCodeBench-Hard (ground truths, each with a comment), nothing
              known; the original with its ground truths
    further   Gemma's answers to BigCodeBench-Hard, ground truths known; the original without them
    qwen      Qwen's answers to all tasks: first (ground truths known), the original, again (also the contradictions of
              these tasks, as after a first model), unchecked (without checks of passes)
    gemma     Gemma's answers to all tasks: first, the original
    truths    the ground truths of all tasks alone

Altered tests that ship with the product count as known. Each measured command is a separate process. Others: CPU that
other programs used meanwhile, which should be near zero. The time left is believable while it is within a factor of
two, or within ten seconds, of the actual one; the share is that of the seconds from a third of the way on in which the
run states a time. Finished measurements are kept in FOLDER/runs.jsonl and not repeated by the same command; the report
goes to standard output and to FOLDER/report.md.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluations import UNCHECKED, Run, Unit, measured_units
from measuring import table
from original import load_tasks

from bigcodeflow.core.errors import BigCodeFlowError, ConfigError

_SIDES = ("fresh", "first", "original", "original fresh", "again", "unchecked")
_MOST_LISTED = 40
_HEAD = ("run", "samples", "passed", "wall, s", "CPU, s", "the original's wall, times", "longest sample, s (task)")
_HEAD += ("wall over max(longest, CPU / cores)", "CPU beyond a test, ms", "time left believable, %")
_HEAD += ("load before", "after", "others, CPU s")


class Measurement(NamedTuple):
    """Answers that are judged, and by whom, in this order."""

    answers: str
    subset: str
    sides: tuple[str, ...]


MEASUREMENTS = {
    "hard": Measurement("strong", "hard", ("fresh", "original fresh")),
    "further": Measurement("gemma", "hard", ("first", "original")),
    "qwen": Measurement("qwen", "full", ("first", "original", "again", "unchecked")),
    "gemma": Measurement("gemma", "full", ("first", "original")),
    "truths": Measurement("oracle", "full", ("fresh",)),
}


def main() -> None:
    arguments = _arguments()
    try:
        if arguments.compare:
            print(compared(*map(_runs_in, arguments.compare)))
            return
        report = report_of(measured(arguments), cores=arguments.workers)
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    (arguments.out / "report.md").write_text(report)
    print(report)


def measured(arguments: argparse.Namespace) -> list[Run]:
    """Return the requested runs; make those that are missing."""
    subsets = {MEASUREMENTS[name].subset for name in arguments.only}
    ids = {name: tuple(task["task_id"] for task in load_tasks(arguments.data, arguments.ids, name)) for name in subsets}
    return measured_units(plan(arguments, ids), arguments)


def plan(arguments: argparse.Namespace, ids: Mapping[str, tuple[str, ...]]) -> list[Unit]:
    """Return the measurements in the order in which they are made: the original between our two passes."""
    theirs = {side for side in arguments.sides if side.startswith("original")}
    if theirs and arguments.environment != "bigcodebench":
        raise ConfigError("the original runs in the environment bigcodebench only: name --sides without it")
    units = []
    for answers, subset, sides in map(MEASUREMENTS.__getitem__, arguments.only):
        for side in (one for one in sides if one in arguments.sides):
            settings = () if side in theirs else tuple(arguments.set)
            settings += (UNCHECKED,) if side == "unchecked" or answers == "oracle" else ()
            units.append(Unit(answers, side, subset, ids[subset], arguments.environment, arguments.workers, settings))
    return units


def report_of(runs: Sequence[Run], *, cores: int) -> str:
    """Return Markdown: every run with its conditions, then the verdicts that differ from the original's."""
    theirs = {_what(run): run for run in runs if run["side"].startswith("original")}
    parts = [f"{cores} cores.\n", table(_HEAD, [_line(run, theirs.get(_what(run)), cores) for run in runs])]
    for run in (one for one in runs if one["side"] in ("fresh", "first", "again") and _what(one) in theirs):
        there, here = _statuses(theirs[_what(run)]), _statuses(run)
        differing = [f"{name}: {there[name]}, {here[name]}" for name in there if _differ(there, here, name)]
        parts.append(f"{_title(run)}: verdicts that differ (there, here):\n\n{listed(differing)}\n")
    return "\n".join(parts)


def _line(run: Run, original: Run | None, cores: int) -> list[object]:
    rows, wall_seconds, cpu_seconds = run["rows"], run["wall_seconds"], run["cpu_seconds"]
    longest = max(rows, key=lambda row: row["wall_seconds"])
    floor_seconds = max(longest["wall_seconds"], cpu_seconds / cores)
    tests_seconds = sum(row.get("test_cpu_seconds") or 0.0 for row in rows)
    is_ours = not run["side"].startswith("original")
    return [
        _title(run),
        len(rows),
        sum(row["status"] == "pass" for row in rows),
        f"{wall_seconds:.1f}",
        f"{cpu_seconds:.1f}",
        f"{original['wall_seconds'] / wall_seconds:.2f}" if original and is_ours else "",
        f"{longest['wall_seconds']:.1f} ({longest['task_id'].rpartition('/')[2]})",
        f"{wall_seconds / floor_seconds:.2f}",
        f"{1000 * (cpu_seconds - tests_seconds) / len(rows):.1f}" if is_ours else "",
        f"{100 * run['eta_within_factor']:.0f}" if is_ours else "",
        *(f"{run[name]:.2f}" for name in ("load_before", "load_after", "others_cpu_seconds")),
    ]


def compared(ours: Sequence[Run], others: Sequence[Run]) -> str:
    """List the verdicts that differ between the runs of two folders."""
    pairs = [
        (one, other) for one in ours for other in others if (_what(one), one["side"]) == (_what(other), other["side"])
    ]
    return "\n".join(_changes(*pair) for pair in pairs) or "The two folders have no run in common."


def _changes(mine: Run, other: Run) -> str:
    ours, theirs = _statuses(mine), _statuses(other)
    titles = [f"{_title(run)} ({' '.join(run['settings']) or 'defaults'})" for run in (mine, other)]
    both = [name for name in ours if name in theirs]
    changed = [f"{name}: {ours[name]}, {theirs[name]}" for name in both if ours[name] != theirs[name]]
    passes = sum(_differ(ours, theirs, name) for name in both)
    return (
        f"### {titles[0]}, and {titles[1]}\n\n{len(changed)} of {len(both)} verdicts differ, {passes} of them in "
        f"whether the sample passes:\n\n{listed(changed)}\n"
    )


def _what(run: Run) -> tuple[str, str]:
    return run["answers"], run["subset"]


def _title(run: Run) -> str:
    return f"{run['answers']}, {run['subset']}, {run['side']}"


def _statuses(run: Run) -> dict[str, str]:
    return {row["task_id"]: row["status"] for row in run["rows"]}


def _differ(one: Mapping[str, str], other: Mapping[str, str], task_id: str) -> bool:
    """Tell if a task passes in exactly one of two runs that both have it."""
    return task_id in one and task_id in other and (one[task_id] == "pass") != (other[task_id] == "pass")


def listed(texts: Sequence[str]) -> str:
    """Return texts as a Markdown list; a long list is shortened."""
    more = [f"… and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return "\n".join(f"- {text}" for text in [*texts[:_MOST_LISTED], *more]) or "- none"


def _runs_in(folder: Path) -> list[Run]:
    try:
        return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    except OSError as error:
        raise ConfigError(f"{folder} holds no runs.jsonl ({error.strerror}): name an --out of this script") from None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the reference data")
    parser.add_argument("--out", type=Path, help="folder for runs.jsonl and report.md")
    parser.add_argument("--only", default=",".join(MEASUREMENTS), help="measurements, separated by commas")
    parser.add_argument("--sides", default=",".join(_SIDES), help="sides of them, separated by commas")
    parser.add_argument("--ids", default="", help="tasks, such as '0-19,30'; empty takes all of each subset")
    parser.add_argument("--environment", default="bigcodebench", help="sandbox environment of our passes")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="cores on either side")
    parser.add_argument("--set", action="append", default=[], metavar="SETTING=VALUE", help="a setting of ours")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FOLDER", help="compare two results and end")
    arguments = parser.parse_args()
    arguments.only, arguments.sides = arguments.only.split(","), arguments.sides.split(",")
    if unknown := {*arguments.only} - {*MEASUREMENTS} | {*arguments.sides} - {*_SIDES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join((*MEASUREMENTS, *_SIDES))}")
    if not arguments.compare and not (arguments.data and arguments.out):
        parser.error("--data and --out are needed, or --compare")
    return arguments


if __name__ == "__main__":
    main()
