"""Count the tasks of BigCodeBench that have a valid variant with the same meaning, by kind.

    python benchmarks/perturbation.py --data ../shared --out FOLDER [--ids 0-19] [--kinds function data] [--workers 2]
    python benchmarks/perturbation.py --data ../shared --out FOLDER --draw 10

One variant per task and kind is tried; it is valid if its reference solution passes its test and its stub does not. The
tasks' unchanged reference solutions are executed too: a task that cannot be judged here can have no valid variant.
Prints a Markdown table. Executions are kept in FOLDER/store: the same command continues where it stopped.
With --draw, that many valid variants of each kind are drawn at random into FOLDER/drawn, each in a file with its
differences from the original, for a reader who judges if the meaning is the same; the column verdict of verdicts.csv
takes right or wrong, and `benchmarks/audit.py check` counts them.
"""

import argparse
import csv
import difflib
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sandbox_tables import Goal, table

from bigcodeflow.config import load_config
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.store import open_store
from bigcodeflow.studies.perturbation import PerturbationConfig
from bigcodeflow.studies.perturbation.variants import KINDS
from bigcodeflow.studies.perturbation.writing import Perturbed, make_variants

Row = Mapping[str, Any]
GOAL = 0.95
_DRAW_SEED = 7
_TEXTS = ("complete_prompt", "instruct_prompt", "canonical_solution", "test")


class Shares(NamedTuple):
    """Tasks with a valid variant of one kind, or of any kind."""

    kind: str
    valid: int
    valid_judgeable: int
    """Number of tasks among those whose unchanged reference solution passes here."""


def main() -> None:
    arguments = _arguments()
    try:
        found, judgeable, originals = _measure(arguments)
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    if arguments.draw:
        draw(found.rows, originals, arguments.draw, arguments.out / "drawn")
        return
    rows = shares(found.rows, judgeable)
    report = report_of(rows, len(originals), len(judgeable), found)
    figures = {"tasks": len(originals), "judgeable": len(judgeable), "kinds": [row._asdict() for row in rows]}
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1))
    (arguments.out / "report.md").write_text(report)
    print(report)


def _measure(arguments: argparse.Namespace) -> tuple[Perturbed, frozenset[str], Mapping[str, Row]]:
    """Return the variants, the tasks that can be judged here, and all tasks by id."""
    given = {
        "dataset.source": str((arguments.data / "data" / "bigcodebench-v0.1.4.parquet").resolve()),
        "dataset.ids": arguments.ids,
        "samples.source": "oracle",
        "sanitizing.mode": "none",
        "execution.environment": arguments.environment,
        "execution.workers": arguments.workers,
        "store": str((arguments.out / "store").resolve()),
    }
    config = PerturbationConfig(run=load_config(None, (), given), kinds=tuple(arguments.kinds), seed=arguments.seed)
    off = config.run.execution.model_copy(update={"integrity": "off"})
    with progress_listener() as listener:
        refs = perform_up_to("execution", config.run.model_copy(update={"execution": off}), listener)
        store = open_store(config.run.store)
        truths = store.read(refs["ground_truth"], ["task_id", "status"]).to_pylist()
        originals = {row["task_id"]: row for row in store.read(refs["dataset"]).to_pylist()}
        found = make_variants(config, listener)
    return found, frozenset(row["task_id"] for row in truths if row["status"] == "pass"), originals


def draw(rows: Sequence[Row], originals: Mapping[str, Row], number: int, folder: Path) -> None:
    """Write `number` variants of each kind, each with its differences from the original, and the table to fill in."""
    chance, by_kind = random.Random(_DRAW_SEED), dict[str, list[Row]]()
    for row in rows:
        by_kind.setdefault(row["perturbation"], []).append(row)
    drawn = [one for _, own in sorted(by_kind.items()) for one in chance.sample(own, min(number, len(own)))]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("number", "kind", "original", "verdict", "remark"))
        for place, row in enumerate(drawn, start=1):
            writer.writerow((place, row["perturbation"], row["original_task_id"], "", ""))
            (folder / f"{place:02}.txt").write_text(_beside(originals[row["original_task_id"]], row), encoding="utf-8")


def _beside(original: Row, variant: Row) -> str:
    parts = list[str]()
    for name in _TEXTS:
        lines = (one[name].splitlines() for one in (original, variant))
        parts += [f"=== changes of {name}", *difflib.unified_diff(*lines, lineterm="", n=2), ""]
    return "\n".join([*parts, *(f"=== {name}\n{variant[name]}\n" for name in _TEXTS)])


def shares(rows: Sequence[Row], judgeable: frozenset[str]) -> list[Shares]:
    """Count valid variants for any kind first, then by kind."""
    kinds = list(dict.fromkeys(row["perturbation"] for row in rows))
    found = []
    for kind in ("any", *kinds):
        tasks = {row["original_task_id"] for row in rows if kind in ("any", row["perturbation"])}
        found.append(Shares(kind, len(tasks), len(tasks & judgeable)))
    return found


def report_of(rows: Sequence[Shares], n_tasks: int, n_judgeable: int, found: Perturbed) -> str:
    """Return the table, and the goal."""
    made = {one.kind: one.tasks_made for one in found.yields}
    cells = []
    for row in rows:
        of_judgeable = f"{row.valid_judgeable / n_judgeable:.1%}" if n_judgeable else ""
        of_kind = f"{made[row.kind]:,}" if row.kind in made else ""
        cells.append([row.kind, of_kind, f"{row.valid:,}", f"{row.valid / n_tasks:.1%}", of_judgeable])
    head = ["kind", "tasks of which one was made", "tasks with one that holds", "of all", "of those judgeable"]
    goal = Goal(rows[0].valid / n_tasks, "share of tasks with a variant that holds", GOAL, at_least=True)
    said = f"{n_tasks:,} tasks, of which {n_judgeable:,} can be judged here; {len(found.rows):,} variants hold"
    return f"{said}\n\n{table(head, cells)}\n" + table(["goal", "measured", "asked", "met"], [goal.cells()])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with data/ of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="folder for the store and the figures")
    parser.add_argument("--ids", default="", help="tasks, such as 0-19; all where it is not given")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), help="kinds of variants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--environment", default="bigcodebench")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--draw", type=int, default=0, help="variants of each kind to draw for a reader")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    return arguments


if __name__ == "__main__":
    main()
