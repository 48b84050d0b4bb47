"""Measure what the search of a corpus finds: planted tasks, tasks that are not in the corpus, and the speed.

    python benchmarks/contamination.py --data ../shared --out FOLDER [--every 10] [--filler FOLDER]

For every tenth task one text is planted between files of a folder of Python code, by default the interpreter's library:
the unchanged solution, the solution with renamed variables, half of its lines, or the prompt. A planted task counts as
detected if it is called contaminated, or if the best place is the file in which it was planted; any other task must not
be called contaminated. Prints a Markdown table.
"""

import argparse
import ast
import json
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox_tables import table

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow.studies.contamination import ContaminationConfig
from bigcodeflow.studies.contamination.searching import search_corpus

Task = Mapping[str, Any]


def main() -> None:
    arguments = _arguments()
    source = str((arguments.data / "data" / "bigcodebench-v0.1.4.parquet").resolve())
    dataset = DatasetConfig(source=source)
    try:
        tasks = datasets.load_tasks(dataset, datasets.resolve(dataset)).to_pylist()
        planted = plant(tasks[:: arguments.every], arguments.out / "corpus", arguments.filler)
        config = ContaminationConfig(
            corpus=str(arguments.out / "corpus"), dataset=dataset, store=str(arguments.out / "store")
        )
        began = time.monotonic()
        with progress_listener() as listener:
            ref = search_corpus(config, listener)
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    seconds = time.monotonic() - began
    size_mb = sum(path.stat().st_size for path in (arguments.out / "corpus").iterdir()) / 1e6
    print(report_of(open_store(config.store).read(ref).to_pylist(), planted, seconds, size_mb))


def _renamed(task: Task) -> str:
    """Return the solution with other names for the variables that it assigns."""
    tree = ast.parse(task["complete_prompt"] + task["canonical_solution"])
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in stored:
            node.id = f"{node.id[:1]}{len(node.id)}renamed"
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    return ast.unparse(ast.Module(function.body[1:], []))


def _half(task: Task) -> str:
    lines = task["canonical_solution"].splitlines()
    return "\n".join(lines[: max(1, len(lines) // 2)])


PLANTED: Mapping[str, Callable[[Task], str]] = {
    "solution as it is": lambda task: str(task["canonical_solution"]),
    "solution, variables renamed": _renamed,
    "half of the solution": _half,
    "prompt as it is": lambda task: str(task["complete_prompt"]),
}


def plant(tasks: Sequence[Task], corpus: Path, filler: Path) -> dict[str, str]:
    """Write the corpus; return how each planted task was planted. Files are named after their task."""
    corpus.mkdir(parents=True, exist_ok=True)
    texts, planted = _filler(filler), dict[str, str]()
    for number, task in enumerate(tasks):
        kind = list(PLANTED)[number % len(PLANTED)]
        planted[task["task_id"]] = kind
        content = f"{next(texts)}\n{PLANTED[kind](task)}\n{next(texts)}\n"
        (corpus / f"{_file_of(task['task_id'])}").write_text(content, encoding="utf-8")
    for number, text in enumerate(texts):
        (corpus / f"filler-{number}.py").write_text(text, encoding="utf-8")
    return planted


def _filler(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield path.read_text(encoding="utf-8", errors="replace")


def _file_of(task_id: str) -> str:
    return f"{task_id.replace('/', '-')}.py"


def report_of(rows: Sequence[Mapping[str, Any]], planted: Mapping[str, str], seconds: float, size_mb: float) -> str:
    """Count the detected tasks of each kind and the false alarms among the others, and show the speed."""
    cells = []
    for kind in PLANTED:
        of_kind = [row for row in rows if planted.get(row["task_id"]) == kind]
        named = [row for row in of_kind if row["contaminated"]]
        placed = [row for row in of_kind if _file_of(row["task_id"]) in (row["fuzzy_file"], row["longest_file"])]
        cells.append([kind, f"{len(of_kind):,}", f"{len(placed):,}", f"{len(named):,}"])
    others = [row for row in rows if row["task_id"] not in planted]
    wrong = [row["task_id"] for row in others if row["contaminated"]]
    cells.append(["not planted", f"{len(others):,}", "", f"{len(wrong):,}"])
    head = ["planted", "tasks", "best place is the planted one", "called contaminated"]
    speed = f"{size_mb:.0f} MB in {seconds:.0f} s, {size_mb / seconds:.1f} MB a second"
    return f"{speed}\n\n{table(head, cells)}\nnot planted, yet called contaminated: {json.dumps(wrong)}\n"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="folder for the corpus and the store")
    parser.add_argument("--every", type=int, default=10, help="plant one of so many tasks")
    parser.add_argument(
        "--filler", type=Path, default=Path(sysconfig.get_paths()["stdlib"]), help="folder of Python code"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
