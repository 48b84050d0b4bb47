"""Measure two recorded runs, and one with endless loops, here and in the original: wall, CPU, and CPU by part.

    python benchmarks/recorded_runs.py --data ../shared --out FOLDER                   # all three, about 2.5 hours
    python benchmarks/recorded_runs.py --data ../shared --out FOLDER --only qwen --ids 0-59
    python benchmarks/recorded_runs.py --data ../shared --out FOLDER --no-original --time-policy scaled
    python benchmarks/recorded_runs.py --compare FOLDER FOLDER                         # verdicts that differ

Runs: qwen, gemma, and loops: Qwen's answers, of which ten, spread evenly by a fixed seed, are replaced by programs
whose entry point loops forever. Each is judged three times in a row: here with a store that holds only ground truths
(first), by the original without its ground truths (original), and here with a store that also knows the contradictions
of these tasks, as after a first model (again). With --unchecked also without the check of passes. Each measured command
is a separate process, including imports and cluster.

Finished measurements are kept in FOLDER/runs.jsonl and not repeated by the same command. Every figure goes to
FOLDER/figures.json, the tables to standard output and to FOLDER/report.md.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluations import Row, Run, Unit, measured_units, settings_of
from measuring import table
from original import load_tasks
from parity import SAMPLE_FILES

from bigcodeflow.core.errors import BigCodeFlowError, ConfigError

_MOST_LISTED = 40
GOAL_FLOOR = 1.2


def main() -> None:
    arguments = _arguments()
    try:
        report = compared(*map(_figures_in, arguments.compare)) if arguments.compare else measured(arguments)
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    print(report)


def measured(arguments: argparse.Namespace) -> str:
    """Make the requested measurements that are missing; return the report."""
    task_ids = [task["task_id"] for task in load_tasks(arguments.data, arguments.ids)]
    runs = measured_units(plan(arguments, task_ids), arguments)
    report = report_of(runs, cores=arguments.workers)
    asked = {name: str(value) for name, value in vars(arguments).items()}
    figures = {"arguments": asked, "runs": [run | figures_of(run, cores=arguments.workers) for run in runs]}
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1))
    (arguments.out / "report.md").write_text(report)
    return report


def plan(arguments: argparse.Namespace, task_ids: Sequence[str]) -> list[Unit]:
    """Return the measurements in the order in which they are made: the original between our two passes."""
    if arguments.original and arguments.environment != "bigcodebench":
        raise ConfigError("the original runs in the environment bigcodebench only: add --no-original")
    settings = tuple(arguments.set)
    if arguments.time_policy:
        settings += (f"execution.limits.time_policy={arguments.time_policy}",)
    extra = {"original": arguments.original, "again": arguments.again, "unchecked": arguments.unchecked}
    sides = ["first", *(side for side, asked in extra.items() if asked)]
    alike = (tuple(task_ids), arguments.environment, arguments.workers, arguments.time_seconds)
    return [
        Unit(answers, side, *alike, arguments.loops if answers == "loops" else 0, settings_of(side, settings))
        for answers in arguments.only
        for side in sides
    ]


def figures_of(run: Run, *, cores: int) -> dict[str, Any]:
    """Return figures of a run, computed from its rows; times are in seconds."""
    rows = run["rows"]
    longest = max(row["wall_seconds"] for row in rows)
    floor = max(longest, run["cpu_seconds"] / cores)
    return {
        "samples": len(rows),
        "passed": sum(row["status"] == "pass" for row in rows),
        "statuses": by_status(rows),
        "cpu_outside_seconds": run["cpu_seconds"] - sum(row["cpu_seconds"] for row in rows),
        "longest_seconds": longest,
        "floor_seconds": floor,
        "wall_over_floor": run["wall_seconds"] / floor,
    }


def by_status(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Sum number and CPU seconds of the samples by status; also CPU beyond the tests if the rows contain it."""
    found: dict[str, dict[str, float]] = {}
    for row in sorted(rows, key=lambda row: row["status"]):
        one = found.setdefault(row["status"], {"samples": 0, "wall_seconds": 0.0, "cpu_seconds": 0.0})
        one["samples"] += 1
        one["wall_seconds"] += row["wall_seconds"]
        one["cpu_seconds"] += row["cpu_seconds"]
        if row.get("test_cpu_seconds") is not None:
            beyond = row["cpu_seconds"] - row["test_cpu_seconds"]
            one["cpu_beyond_tests_seconds"] = one.get("cpu_beyond_tests_seconds", 0.0) + beyond
    return found


def report_of(runs: Sequence[Run], *, cores: int) -> str:
    """Return Markdown of every run."""
    figures = [(run, figures_of(run, cores=cores)) for run in runs]
    loads = [run["load_before"] for run in runs]
    sources = " and ".join(sorted({run["cpu_source"] for run in runs}))
    conditions = (
        f"{cores} cores; CPU time by {sources}; load average before the measurements {min(loads):.1f} to "
        f"{max(loads):.1f}."
    )
    parts = [
        f"### Recorded runs, here and in the original\n\n{conditions}\n",
        _costs(figures),
        "Outside: CPU that is no sample's own: checks of passes, zygotes, workers, imports; the original's start.\n",
        _cpu_by_status(figures),
        _floors(figures),
    ]
    here = {run["answers"]: run for run in runs if run["side"] in ("first", "again")}  # the later pass
    for theirs in (run for run in runs if run["side"] == "original" and run["answers"] in here):
        ours = here[theirs["answers"]]
        there, found = _statuses(theirs), _statuses(ours)
        differing = [f"{name}: {there[name]}, {found[name]}" for name in there if _differ(there, found, name)]
        heading = f"{ours['answers']}, {ours['side']}: verdicts that differ (there, here)"
        parts.append(f"{heading}:\n\n{listed(differing)}\n")
    return "\n".join(parts)


def _costs(figures: Sequence[tuple[Run, Mapping[str, Any]]]) -> str:
    theirs = {run["answers"]: run for run, _ in figures if run["side"] == "original"}
    lines = []
    for run, found in figures:
        original = theirs.get(run["answers"], {})
        ratios = [original[name] / run[name] if original else 0.0 for name in ("wall_seconds", "cpu_seconds")]
        lines.append(
            [
                f"{run['answers']}, {run['side']}",
                found["samples"],
                found["passed"],
                f"{run['wall_seconds']:.1f}",
                f"{run['cpu_seconds']:.1f}",
                f"{1000 * run['cpu_seconds'] / found['samples']:.0f}",
                *(f"{ratio:.2f}" if ratio else "" for ratio in ratios),
            ]
        )
    head = ["run", "samples", "passed", "wall, s", "CPU, s", "CPU a sample, ms"]
    return table([*head, "original / it, wall", "original / it, CPU"], lines)


def _cpu_by_status(figures: Sequence[tuple[Run, Mapping[str, Any]]]) -> str:
    lines = []
    for run, found in figures:
        name, whole = f"{run['answers']}, {run['side']}", run["cpu_seconds"]
        for status, one in found["statuses"].items():
            beyond = one.get("cpu_beyond_tests_seconds")
            cells = [f"{one['cpu_seconds']:.1f}", "" if beyond is None else f"{beyond:.1f}"]
            lines.append([name, status, one["samples"], *cells, f"{100 * one['cpu_seconds'] / whole:.1f}"])
        outside = found["cpu_outside_seconds"]
        lines.append([name, "outside", "", f"{outside:.1f}", f"{outside:.1f}", f"{100 * outside / whole:.1f}"])
    return table(["run", "status", "samples", "CPU, s", "beyond the tests, s", "% of the run's CPU"], lines)


def _floors(figures: Sequence[tuple[Run, Mapping[str, Any]]]) -> str:
    lines = []
    for run, found in figures:
        asked = run["answers"] == "loops" and run["side"] != "original"
        met = "yes" if found["wall_over_floor"] <= GOAL_FLOOR else "no"
        numbers = [f"{run['wall_seconds']:.1f}", f"{found['longest_seconds']:.1f}", f"{found['floor_seconds']:.1f}"]
        verdict = (f"at most {GOAL_FLOOR:g}", met) if asked else ("", "")
        lines.append([f"{run['answers']}, {run['side']}", *numbers, f"{found['wall_over_floor']:.2f}", *verdict])
    head = ["run", "wall, s", "longest sample, s", "max(longest, CPU / cores), s", "wall over it", "asked", "met"]
    return table(head, lines)


def compared(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    """List the verdicts that differ between two result folders, and between two passes of the first folder."""
    pairs = [
        (mine, other)
        for mine in one["runs"]
        for folder, side in ((two, mine["side"]), (one, "first"))
        for other in folder["runs"]
        if mine["side"] != "original" and (other["answers"], other["side"]) == (mine["answers"], side)
        if other is not mine
    ]
    return "\n".join(_changes(*pair) for pair in pairs) or "The two folders have no run in common."


def _changes(mine: Run, other: Run) -> str:
    ours, theirs = _statuses(mine), _statuses(other)
    names = [f"{run['answers']}, {run['side']} ({' '.join(run['settings']) or 'defaults'})" for run in (mine, other)]
    both = [task_id for task_id in ours if task_id in theirs]
    changed = [f"{name}: {ours[name]}, {theirs[name]}" for name in both if ours[name] != theirs[name]]
    passes = sum(_differ(ours, theirs, name) for name in both)
    return (
        f"### {names[0]} beside {names[1]}\n\n{len(changed)} of {len(both)} verdicts differ, {passes} of them in "
        f"whether the sample passes:\n\n{listed(changed)}\n"
    )


def _statuses(run: Run) -> dict[str, str]:
    return {row["task_id"]: row["status"] for row in run["rows"]}


def _differ(one: Mapping[str, str], other: Mapping[str, str], task_id: str) -> bool:
    """Tell if a task passes in exactly one of two runs that both have it."""
    return task_id in one and task_id in other and (one[task_id] == "pass") != (other[task_id] == "pass")


def listed(texts: Sequence[str]) -> str:
    """Return texts as a Markdown list; a long list is shortened."""
    more = [f"… and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return "\n".join(f"- {text}" for text in [*texts[:_MOST_LISTED], *more]) or "- none"


def _figures_in(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "figures.json").read_text())
    except OSError as error:
        raise ConfigError(f"{folder} holds no figures.json ({error.strerror}): name an --out of this script") from None
    return found


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - {*SAMPLE_FILES, "loops"}:
        raise argparse.ArgumentTypeError(f"no run is called {', '.join(sorted(unknown))}: qwen, gemma, loops")
    return names


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the reference data")
    parser.add_argument("--out", type=Path, help="folder for runs.jsonl, figures.json and report.md")
    parser.add_argument("--ids", default="", help="tasks, such as '0-19,30'; empty takes all 1,140")
    parser.add_argument("--only", type=_names, default=["qwen", "gemma", "loops"], help="of qwen,gemma,loops")
    parser.add_argument("--original", action=argparse.BooleanOptionalAction, default=True, help="also the original")
    parser.add_argument("--again", action=argparse.BooleanOptionalAction, default=True, help="also our second pass")
    parser.add_argument("--unchecked", action="store_true", help="also a pass without the check of passes")
    parser.add_argument("--environment", default="bigcodebench", help="sandbox environment of our passes")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="cores on either side")
    parser.add_argument("--loops", type=int, default=10, help="answers that are replaced by endless loops")
    parser.add_argument(
        "--time-seconds", type=float, default=240.0, help="limit of a sample; the original allows 20 or more"
    )
    parser.add_argument("--time-policy", choices=["fixed", "scaled"], help="our execution.limits.time_policy")
    parser.add_argument("--set", action="append", default=[], metavar="SETTING=VALUE", help="another setting of ours")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FOLDER", help="compare two results and end")
    arguments = parser.parse_args()
    if not arguments.compare and not (arguments.data and arguments.out):
        parser.error("--data and --out are needed, or --compare")
    return arguments


if __name__ == "__main__":
    main()
