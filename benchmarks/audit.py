"""Count the findings of the audit in the benchmark, and the share that a reader confirms.

    python benchmarks/audit.py table --data ../shared --store FOLDER [--ids 0-99] [--mutants 30] [--workers 2]
    python benchmarks/audit.py draw --data ../shared --store FOLDER --out FOLDER [--findings 50] [--seed 0]
    python benchmarks/audit.py check FOLDER/verdicts.csv

--data is the reference data (holds data/). `table` audits the tasks, with the recorded runs of the reference data if
the store has them (import them with `benchmarks/recorded_runs.py`), and prints figures by kind and the mutation score
as Markdown. It is resumable: executed work is in the store. `draw` writes the given number of findings, drawn evenly
over tasks, each with the texts of its task, for a reader who does not know which method found them. In verdicts.csv the
reader fills in the column verdict (right: the evidence is true, and the changed program does not mean the same; else
wrong) and the column by_text (yes: the task's text decides that the test should notice the change; else no). `check`
prints the shares with 95 % intervals.
"""

import argparse
import csv
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bigcodeflow.core.display_text import csv_cell
from bigcodeflow.core.table import Table
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.results.formatting import percent, percent_range
from bigcodeflow.results.statistics import Z_95
from bigcodeflow.store import ArtifactRef, open_store
from bigcodeflow.studies.audit import AuditConfig
from bigcodeflow.studies.audit.findings import COUNTED, ERRATA, UNDECIDED
from bigcodeflow.studies.audit.study import audit
from bigcodeflow.studies.audit.tables import figures

Row = Mapping[str, Any]
_COLUMNS = ("number", "task_id", "kind", "line", "before", "after", "text", "verdict", "by_text", "remark")
_RIGHT, _WRONG, _YES = "right", "wrong", "yes"


def main() -> None:
    arguments = _arguments()
    if arguments.action == "check":
        print(checked(list(csv.DictReader(arguments.file.open(newline="", encoding="utf-8")))).to_markdown())
        return
    store, ref = open_store(arguments.store), _audited(arguments)
    rows = store.read(ref).to_pylist()
    if arguments.action == "table":
        print(figures(rows).to_markdown())
        return
    dataset = store.find("dataset", _dataset_key(arguments.store, ref))
    tasks = {row["task_id"]: row for row in store.read(dataset).to_pylist()} if dataset else {}
    findings = drawn(rows, arguments.findings, arguments.seed)
    written(findings, tasks, arguments.out)
    print(f"{len(findings)} findings in {arguments.out}: fill the column verdict of verdicts.csv with right or wrong")


def _audited(arguments: argparse.Namespace) -> ArtifactRef:
    config = AuditConfig(
        environment="bigcodebench",
        dataset=str(arguments.data / "data" / "bigcodebench-v0.1.4.parquet"),
        ids=arguments.ids,
        runs=tuple(arguments.run),
        mutants=arguments.mutants,
        workers=arguments.workers,
        store=str(arguments.store),
    )
    with progress_listener() as listener:
        return audit(config, listener)


def _dataset_key(store: Path, ref: ArtifactRef) -> str:
    import json

    manifest = json.loads((open_store(store).folder(ref.stage, ref.key) / "manifest.json").read_text())
    return str(manifest["settings"]["dataset"])


def drawn(rows: Sequence[Row], number: int, seed: int) -> list[Row]:
    """Draw findings evenly over the tasks; leave out undecided findings and known errata, which claim nothing."""
    order = random.Random(seed)
    by_task: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] not in (COUNTED, UNDECIDED) and row["method"] != ERRATA:
            by_task[row["task_id"]].append(row)
    queues = [order.sample(found, len(found)) for _, found in sorted(by_task.items())]
    order.shuffle(queues)
    chosen: list[Row] = []
    while len(chosen) < number and any(queues):
        chosen += [queue.pop() for queue in queues if queue][: number - len(chosen)]
    return chosen


def written(findings: Sequence[Row], tasks: Mapping[str, Row], folder: Path) -> None:
    """Write one file with the task's texts for each finding, and the table that the reader fills in."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS, restval="", extrasaction="ignore")
        writer.writeheader()
        for number, row in enumerate(findings, start=1):
            cells = {name: csv_cell(str(value)) for name, value in row.items()}
            writer.writerow({**cells, "number": number})
            task = tasks.get(row["task_id"], {})
            program = str(task.get("complete_prompt", "")) + str(task.get("canonical_solution", ""))
            parts = [f"{name}: {row[name]}" for name in ("task_id", "kind", "line", "before", "after", "text")]
            parts += ["", "--- program", _numbered(program), "", "--- test", _numbered(str(task.get("test", "")))]
            (folder / f"{number:02}.txt").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _numbered(text: str) -> str:
    return "\n".join(f"{number:>4} {line}" for number, line in enumerate(text.splitlines(), start=1))


def checked(rows: Sequence[Row]) -> Table:
    """Show the share of findings judged right, by kind and in total, and the share that the task's text decides too."""
    judged = [row for row in rows if _cell(row, "verdict") in (_RIGHT, _WRONG)]
    kinds = [*sorted({row["kind"] for row in judged}), "all"]
    cells = []
    for kind in kinds:
        own = [row for row in judged if kind in ("all", row["kind"])]
        right = sum(_cell(row, "verdict") == _RIGHT for row in own)
        share = right / len(own) if own else math.nan
        cells.append((kind, len(own), right, percent(share), percent_range(wilson(right, len(own)))))
    decided = sum(_cell(row, "verdict") == _RIGHT and _cell(row, "by_text") == _YES for row in judged)
    if any(_cell(row, "by_text") for row in judged):
        told = percent(decided / len(judged)), percent_range(wilson(decided, len(judged)))
        cells.append(("all, and the task's text decides it", len(judged), decided, *told))
    open_ones = len(rows) - len(judged)
    notes = [f"{open_ones} of {len(rows)} findings have no verdict yet."] if open_ones else []
    headings = ("kind", "judged", "right", "share", "95 % interval")
    return Table.of(headings, cells, title="What a reader confirms", notes=notes)


def _cell(row: Row, name: str) -> str:
    return str(row.get(name) or "").strip().lower()


def wilson(successes: int, total: int) -> tuple[float, float] | None:
    """Return the interval of a share of independent trials. Source: Wilson 1927."""
    if not total:
        return None
    share, square = successes / total, Z_95**2
    center = (share + square / (2 * total)) / (1 + square / total)
    half = Z_95 * math.sqrt(share * (1 - share) / total + square / (4 * total**2)) / (1 + square / total)
    return max(0.0, center - half), min(1.0, center + half)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("table", "draw"):
        action = actions.add_parser(name)
        action.add_argument("--data", type=Path, required=True, help="the reference data")
        action.add_argument("--store", type=Path, required=True)
        action.add_argument("--ids", default="", help="only these tasks, such as 0-99")
        action.add_argument("--run", action="append", default=[], help="recorded run of the store; repeatable")
        action.add_argument("--mutants", type=int, default=30)
        action.add_argument("--workers", type=int, default=0)
    draw = actions.choices["draw"]
    draw.add_argument("--out", type=Path, required=True)
    draw.add_argument("--findings", type=int, default=50)
    draw.add_argument("--seed", type=int, default=0)
    actions.add_parser("check").add_argument("file", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
