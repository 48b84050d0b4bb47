"""Measure how long results of BigCodeBench take, here and in the original evaluator, and compare with the goals.

    python benchmarks/first_result.py --data ../shared --out FOLDER         # all, two to three hours on two cores
    python benchmarks/first_result.py --data ../shared --out FOLDER --only hard,starter --turns 3
    python benchmarks/first_result.py --data ../shared --out FOLDER --only beyond --samples 11400

    hard      a first run: a strong model's answers to BigCodeBench-Hard (ground truths, each with a comment), nothing
              known; the original with its ground truths
    further   Gemma's answers to BigCodeBench-Hard, ground truths known; the original without them
    full      Qwen's answers to all tasks: first (ground truths known) and again (also the tasks' contradictions)
    truths    the ground truths of all tasks alone
    starter   ten tasks of the starter set in an empty store: the best of three
    beyond    CPU that is no test's: Qwen's answers to all tasks without checks, ground truths known, less the CPU time
              of program and tests; --samples beyond the number of tasks copies answers, each with its own comment

Altered tests that ship with the product count as known. Where the original takes part, the two alternate, and the side
that begins changes from turn to turn; the report shows medians over the turns, and both sides' CPU time. Others: CPU
that other programs used meanwhile, which should be near zero. The longest chain is the longest wall time of executions
of one task that wait for each other: ground truth (if it is not known), sample, check; see `longest_chain` in
evaluations.py, which computes it from the verdicts of the store. No number of cores makes a run shorter. The time left
is believable while it is within a factor of two, or within ten seconds, of the actual one; the share is that of the
seconds from a third of the way on in which the run states a time.

Finished measurements are kept in FOLDER/runs.jsonl and not repeated by the same command; the report goes to standard
output and to FOLDER/report.md.
"""

import argparse
import os
import shutil
import statistics
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evaluations import HERE, Run, Unit, measured_units, settings_of, succeeded
from measuring import Measured, measured_once, table
from original import load_tasks

from bigcodeflow.core.errors import BigCodeFlowError

_MEASUREMENTS = ("hard", "further", "full", "truths", "starter", "beyond")
_STARTER_TRIES = 3
_BEYOND_FEW, _BEYOND_MANY, _MANY_SAMPLES = 25.0, 30.0, 11_400


class Goal(NamedTuple):
    """Figure of a measurement, and the most or the least that it should be."""

    name: str
    figure: float
    bound: float
    is_least: bool = False

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Cells of the table of goals: name, figure, bound, and 'yes' if it is met."""
        met = self.figure >= self.bound if self.is_least else self.figure <= self.bound
        return (
            self.name,
            f"{self.figure:.2f}",
            f"{'≥' if self.is_least else '≤'} {self.bound:.2f}",
            "yes" if met else "no",
        )


class StarterUnit(NamedTuple):
    """Measurement of the starter set."""

    turn: int

    @property
    def key(self) -> str:
        """Identity of the measurement, used to recognise a finished one."""
        return f"starter {self.turn}"


def main() -> None:
    arguments = _arguments()
    try:
        report = report_of(measured(arguments), arguments.workers)
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    (arguments.out / "report.md").write_text(report)
    print(report)


def measured(arguments: Namespace) -> dict[str, list[Run]]:
    """Return the runs of each requested measurement; make those that are missing."""
    subsets = {"full", "hard"} if set(arguments.only) - {"starter"} else set()
    ids = {name: tuple(task["task_id"] for task in load_tasks(arguments.data, arguments.ids, name)) for name in subsets}
    arguments.out.mkdir(parents=True, exist_ok=True)
    runs: dict[str, list[Run]] = {}
    for name in arguments.only:
        if name == "starter":
            units = [StarterUnit(number) for number in range(_STARTER_TRIES)]
            runs[name] = measured_once(arguments.out / "runs.jsonl", units, lambda _: _starter(arguments)._asdict())
        else:
            runs[name] = measured_units(plan(name, ids, arguments), arguments)
    return runs


def plan(name: str, ids: dict[str, tuple[str, ...]], arguments: Namespace) -> list[Unit]:
    """Return the units of one measurement, in the order in which they are made.

    Args:
        name: one of those of the command line, but not the starter set's.
        ids: ids of the tasks of each subset.
        arguments: of the command line; workers, time_seconds, samples, turns and original are read.
    """
    subset = "hard" if name in ("hard", "further") else "full"
    answers = {"hard": "strong", "further": "gemma", "truths": "oracle"}.get(name, "qwen")
    sides = {
        "hard": ("fresh", "original fresh"),
        "further": ("first", "original"),
        "full": ("first", "again"),
        "truths": ("fresh",),
        "beyond": ("unchecked",),
    }[name]
    if not arguments.original:
        sides = tuple(side for side in sides if not side.startswith("original"))
    copies = max(1, arguments.samples // len(ids["full"])) if name == "beyond" else 1
    common = (ids[subset], "bigcodebench", arguments.workers, arguments.time_seconds, 0)
    return [
        Unit(answers, side, *common, settings_of("unchecked" if name == "truths" else side), subset, copies, turn)
        for turn in range(arguments.turns)
        for side in (sides[::-1] if turn % 2 and name != "full" else sides)
    ]


def _starter(arguments: Namespace) -> Measured:
    """Judge the ground truths of ten starter tasks in an empty store."""
    store, out, log = arguments.out / "store", arguments.out / "results", arguments.out / "last.log"
    for folder in (store, out):
        shutil.rmtree(folder, ignore_errors=True)
    command = [*HERE, "evaluate", "--samples", "oracle", "--dataset", "starter", "--ids", "0-9"]
    return succeeded([*command, "--store", str(store), "--out", str(out)], log)


def report_of(runs: dict[str, list[Run]], cores: int) -> str:
    """Return Markdown: every run with its conditions, then the goals."""
    lines = [_line(name, run) for name, own in runs.items() for run in own]
    head = ["run", "turn", "samples", "wall, s", "CPU, s", "longest chain, s", "time left believable, %"]
    head += ["load before", "after", "others, CPU s"]
    goals = [goal.cells for name, own in runs.items() for goal in goals_of(name, own, cores)]
    measured_runs = table(head, lines)
    return f"{cores} cores.\n\n{measured_runs}\n{table(['goal', 'figure', 'bound', 'met'], goals)}"


def _line(name: str, run: Run) -> list[object]:
    costs = [f"{run['wall_seconds']:.1f}", f"{run['cpu_seconds']:.1f}", f"{run.get('chain_seconds', 0.0):.1f}"]
    costs.append(f"{100 * run['eta_within_factor']:.0f}" if "eta_within_factor" in run else "")
    conditions = [f"{run[one]:.2f}" for one in ("load_before", "load_after")] + [f"{run['others_cpu_seconds']:.1f}"]
    title = f"{name}, {run['side']}" if "side" in run else name
    return [title, run.get("turn", ""), len(run.get("rows", ())) or 10, *costs, *conditions]


def goals_of(name: str, runs: Sequence[Run], cores: int) -> list[Goal]:
    """Return the goals of one measurement with its figures: medians over the turns, of the starter set the best."""
    if name == "starter":
        return [Goal("starter: wall, s", min(run["wall_seconds"] for run in runs), 5.0)]
    sides = {run["side"]: _median([one for one in runs if one["side"] == run["side"]]) for run in runs}
    ours = next(iter(found for side, found in sides.items() if not side.startswith("original")))
    if name in ("hard", "further"):
        most = 185.0 if name == "hard" else max(80.0, 1.1 * ours["chain_seconds"])
        theirs = [found["wall_seconds"] for side, found in sides.items() if side.startswith("original")]
        times = [wall / ours["wall_seconds"] for wall in theirs]
        ratios = [Goal(f"{name}: the original's wall, times", one, 2.5, is_least=True) for one in times]
        return [Goal(f"{name}: wall, s", ours["wall_seconds"], most), *ratios]
    if name == "truths":
        return [Goal("truths: wall, s", ours["wall_seconds"], 175.0)]
    if name == "beyond":
        most = _BEYOND_MANY if ours["samples"] >= _MANY_SAMPLES else _BEYOND_FEW
        return [Goal(f"beyond: CPU of each of {ours['samples']:.0f} samples, ms", ours["beyond_ms"], most)]
    floor_seconds = max(sides["first"]["chain_seconds"], sides["first"]["cpu_seconds"] / cores)
    return [
        Goal(
            "full, first: wall over max(longest chain, CPU / cores)",
            sides["first"]["wall_seconds"] / floor_seconds,
            1.1,
        ),
        Goal("full, first: CPU, s", sides["first"]["cpu_seconds"], 900.0),
        Goal("full, again: CPU, s", sides["again"]["cpu_seconds"], 700.0),
    ]


def _median(runs: Sequence[Run]) -> dict[str, float]:
    """Return the medians of one side's figures."""
    return {name: statistics.median(_figures(run)[name] for run in runs) for name in _figures(runs[0])}


def _figures(run: Run) -> dict[str, float]:
    rows: Any = run["rows"]
    tests_seconds = sum(row.get("test_cpu_seconds") or 0.0 for row in rows)
    return {
        "wall_seconds": run["wall_seconds"],
        "cpu_seconds": run["cpu_seconds"],
        "chain_seconds": run.get("chain_seconds", 0.0),
        "samples": len(rows),
        "beyond_ms": 1000 * (run["cpu_seconds"] - tests_seconds) / len(rows),
    }


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(_MEASUREMENTS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(_MEASUREMENTS)}")
    return names


def _arguments() -> Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="folder for runs.jsonl and report.md")
    parser.add_argument("--only", type=_names, default=list(_MEASUREMENTS), help="which, separated by commas")
    parser.add_argument("--ids", default="", help="tasks, such as '13,15,17'; empty takes all of each subset")
    parser.add_argument("--samples", type=int, default=1_140, help="of 'beyond': a multiple of the number of tasks")
    parser.add_argument("--turns", type=int, default=1, help="how often each side is measured")
    parser.add_argument("--original", action=argparse.BooleanOptionalAction, default=True, help="also the original")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="cores on either side")
    parser.add_argument("--time-seconds", type=float, default=240.0, help="time limit of a sample")
    return parser.parse_args()


if __name__ == "__main__":
    main()
