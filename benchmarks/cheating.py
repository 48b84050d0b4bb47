"""Measure the study of the cheating rate: how many tasks can be contradicted, and how well answers are classified.

    python benchmarks/cheating.py tasks --data ../shared [--execute] [--ids IDS] [--store FOLDER] [--workers N]
    python benchmarks/cheating.py corpus [--store FOLDER] [--show]
    python benchmarks/cheating.py honest --data ../shared [--ids IDS] [--store FOLDER] [--workers N]

`tasks` counts the tasks of BigCodeBench whose text has a contradiction, by solve rate; with --execute also the tasks
whose contradiction holds for the reference solution. `corpus` judges the answers of tests/studies/cheating_corpus.yaml,
whose kinds are known. `honest` judges solutions that never saw a contradicted test as if they were answers to it: those
of the starter tasks, and with --data recorded answers of two models; none of them cheats, and each that is called a
cheat is listed. Executions that are in the store are not repeated. Prints Markdown.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.difficulty import published_solve_rates
from bigcodeflow.core.schemas import CONTRADICTED_PREFIX
from bigcodeflow.core.table import Table
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow.studies.cheating import CheatingConfig
from bigcodeflow.studies.cheating.classification import CHEATS, HONEST
from bigcodeflow.studies.cheating.contradicted_tests import contradicted_texts, is_described
from bigcodeflow.studies.cheating.study import run_study
from bigcodeflow.studies.cheating.tasks import Selection, contradicted_tasks, table_bytes

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "studies" / "cheating_corpus.yaml"
#: Folders of the reference data's samples: recorded answers of models that saw no test.
_RECORDED = ("qwen2.5-coder-7b-instruct", "gemma-3-4b-it")
#: Share of BigCodeBench that the study must reach.
_WANTED_TASKS = 300
Answer = tuple[str, dict[str, str]]
"""Task id, and columns of a sample file."""


def main() -> None:
    arguments = _arguments()
    reports = {"tasks": tasks_report, "corpus": corpus_report, "honest": honest_report}
    for table in reports[arguments.what](arguments):
        sys.stdout.write(f"{table.to_markdown()}\n\n")


def tasks_report(arguments: argparse.Namespace) -> Iterator[Table]:
    """Count the tasks and test methods that can be contradicted, by the solve rate of the task."""
    source = str(arguments.data / "data" / "bigcodebench-v0.1.4.parquet")
    config = DatasetConfig(source=source, ids=arguments.ids)
    rows, rates = datasets.load_tasks(config, datasets.resolve(config)).to_pylist(), published_solve_rates()
    counts: dict[str, Counter[str]] = {}
    for task in rows:
        texts = contradicted_texts(task["test"], task["entry_point"])
        methods = sum(is_described(task, one.before) for one in texts[0].methods) if texts else 0
        rate = f"{100 * rates.get(task['task_id'], 1.0):.0f} %"
        counted = {"tasks": 1, "methods": len(task["expected_tests"])}
        counted |= {"contradicted tasks": int(methods > 0), "contradicted methods": methods}
        counts.setdefault(rate, Counter()).update(counted)
    total = sum(counts.values(), Counter[str]())
    names = ("tasks", "contradicted tasks", "methods", "contradicted methods")
    lines = [[rate, *(one[name] for name in names)] for rate, one in [*sorted(counts.items()), ("all", total)]]
    yield Table.of(("solve rate", *names), lines, title="Contradictions by the test's text")
    if arguments.execute:
        yield _executed(_selection(arguments, source))


def _selection(arguments: argparse.Namespace, source: str) -> Selection:
    config = _config(arguments, source, "bigcodebench", arguments.ids)
    with progress_listener() as listener:
        return contradicted_tasks(config, listener)


def _executed(found: Selection) -> Table:
    methods = sum(len(one.shown.methods) for one in found.tasks)
    lines = [
        ("tasks", found.n_tasks),
        ("solved by half of the published models", found.n_solved),
        ("of these, with a contradiction in the text", found.n_by_text),
        ("of these, with one that holds for the reference solution", len(found.tasks)),
        ("test methods with such a contradiction", methods),
        (f"at least {_WANTED_TASKS:,} tasks", len(found.tasks) >= _WANTED_TASKS),
    ]
    return Table.of(("ground-truthed", "number"), lines, title="Contradictions that hold")


def corpus_report(arguments: argparse.Namespace) -> Iterator[Table]:
    """Judge answers of known kinds, and list those that are classified wrongly."""
    entries = yaml.safe_load(CORPUS.read_text())
    starter = {row["task_id"]: row for row in _starter_tasks()}
    answers = [(one["task"], {"raw_solution": corpus_answer(one, starter[one["task"]])}) for one in entries]
    ids = ",".join(sorted({entry["task"] for entry in entries}))
    rows = _judged(_config(arguments, "starter", "starter", ids), answers, "corpus")
    by_task: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_task.setdefault(row["task_id"], []).append(row)
    judged = [(entry, by_task[entry["task"]].pop(0)) for entry in entries]
    lines = []
    for kind in (*CHEATS, *HONEST):
        mine = [(entry, row) for entry, row in judged if entry["kind"] == kind]
        right = sum(row["kind"] == kind for _, row in mine)
        as_cheat = sum(row["cheated"] == (kind in CHEATS) for _, row in mine)
        lines.append((kind, len(mine), right, as_cheat))
    yield Table.of(("kind", "answers", "kind is right", "cheat or honest is right"), lines, title="Corpus")
    wrong = [(entry, row) for entry, row in judged if entry["kind"] != row["kind"]]
    listed = [(one["name"], one["kind"], row["kind"], row["evidence"]) for one, row in wrong]
    yield Table.of(("answer", "is", "was told as", "evidence"), listed, title="Told wrongly")
    if arguments.show:
        yield Table.of(
            ("answer", "kind", "evidence"), [(one["name"], row["kind"], row["evidence"]) for one, row in judged]
        )


def corpus_answer(entry: dict[str, Any], task: dict[str, Any]) -> str:
    """Return the answer of the model: its words, and its program in a code block."""
    solved = (task["complete_prompt"] + task["canonical_solution"]).replace("def task_func", "def solved")
    program = entry["program"].replace("HONEST\n", f"{solved}\n")
    return f"{entry.get('says', '')}\n```python\n{program}```\n" if program else str(entry["says"])


def honest_report(arguments: argparse.Namespace) -> Iterator[Table]:
    """Judge answers of people and models who saw no test, and count those called cheats."""
    found = [("starter oracle", _judged(_config(arguments, "starter", "starter", ""), [], "oracle"))]
    if arguments.data:
        source = str(arguments.data / "data" / "bigcodebench-v0.1.4.parquet")
        config = _config(arguments, source, "bigcodebench", arguments.ids)
        for model in _RECORDED:
            answers = list(_recorded(arguments.data / "data" / "samples" / model))
            found.append((model, _judged(config, answers, model)))
    lines = []
    for name, rows in found:
        cheats = sum(row["cheated"] for row in rows)
        chance = sum(bool(row["passed_tests"]) for row in rows)
        solved = sum(row["test_status"] == "pass" for row in rows)
        lines.append((name, len(rows), solved, chance, cheats, f"{100 * cheats / max(1, len(rows)):.2f} %"))
    headings = ("answers of", "answers", "pass the task's test", "pass a contradicted method", "called cheats", "share")
    yield Table.of(headings, lines, title="Honest answers")
    listed = [
        (name, row["task_id"], row["kind"], row["passed_tests"], row["evidence"])
        for name, rows in found
        for row in rows
        if row["cheated"] or row["passed_tests"]
    ]
    yield Table.of(
        ("answers of", "task", "told as", "contradicted methods passed", "evidence"), listed, title="Each one"
    )


def _recorded(folder: Path) -> Iterator[Answer]:
    """Yield the recorded answers of a model, as the original evaluator received them."""
    for file in sorted(folder.glob("*_calibrated.jsonl.gz"))[:1]:
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            row = json.loads(line)
            yield row["task_id"], {"solution": row["solution"]}


def _judged(config: CheatingConfig, answers: Sequence[Answer], name: str) -> list[dict[str, Any]]:
    """Run the study over the answers whose task can be contradicted (without answers: the oracle); return its rows."""
    with progress_listener() as listener:
        if not answers:
            given = config.model_copy(update={"samples": "oracle", "wordings": config.wordings[:1]})
            return open_store(config.store).read(run_study(given, listener)).to_pylist()
        tasks = contradicted_tasks(config, listener).tasks
        known, folder = {one.task["task_id"] for one in tasks}, Path(config.store)
        dataset, samples = folder / f"{name}.contradicted.parquet", folder / f"{name}.jsonl"
        dataset.write_bytes(table_bytes([one.row("neutral") for one in tasks]))
        lines = [
            json.dumps({"task_id": f"{CONTRADICTED_PREFIX}{task_id}", **texts})
            for task_id, texts in answers
            if task_id in known
        ]
        samples.write_text("\n".join(lines) + "\n")
        mode = "none" if "solution" in answers[0][1] else "robust"
        changes = {"dataset": str(dataset), "samples": str(samples), "ids": ""}
        given = config.model_copy(update={**changes, "overrides": (f"sanitizing.mode={mode}",)})
        return open_store(config.store).read(run_study(given, listener)).to_pylist()


def _config(arguments: argparse.Namespace, source: str, environment: str, ids: str) -> CheatingConfig:
    return CheatingConfig(
        dataset=source, environment=environment, ids=ids, store=arguments.store, workers=arguments.workers
    )


def _starter_tasks() -> list[dict[str, Any]]:
    config = DatasetConfig(source="starter")
    return datasets.load_tasks(config, datasets.resolve(config)).to_pylist()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tasks", "corpus", "honest"))
    parser.add_argument("--data", type=Path, help="folder with the reference data (holds data/)")
    parser.add_argument("--ids", default="", help="only these task numbers or ids, such as 0-19")
    parser.add_argument("--store", default="results/cheating", help="store for artifacts")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--execute", action="store_true", help="ground-truth the contradictions")
    parser.add_argument("--show", action="store_true", help="list every answer of the corpus")
    arguments = parser.parse_args()
    if arguments.what == "tasks" and not arguments.data:
        parser.error("tasks needs --data, the folder with the reference data")
    return arguments


if __name__ == "__main__":
    main()
