"""Measure seconds and bytes of the HTML report of a sweep: 20 models, one answer to each of 1,140 tasks.

    python benchmarks/report.py [--models 20] [--tasks TASKS.parquet SAMPLES.jsonl.gz ...] [--keep FOLDER]

With --tasks: recorded answers; the files next to them that end in _eval_results.json.gz give statuses and traces.
Models take turns at the files; each model changes a third of the longer words in a different way. One more model costs
about 200 compressed bytes per task, while recorded models cost 170 to 370 next to each other; a reasoning model costs
400, while the recorded one costs 650. A real sweep is therefore somewhat larger than this one.
Without --tasks: the starter set, repeated. Prints a Markdown table; exit code 1 above 15 s or 15 MB.
"""

import argparse
import gzip
import json
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.schemas import METRICS, SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.report.writer import MAX_BYTES
from bigcodeflow.results import aggregate
from bigcodeflow.store import Store, open_store

_TASKS = 1_140
_MOST_SECONDS = 15.0
_STARTED = datetime(2026, 1, 1, tzinfo=UTC)
_TRACE = (
    'Traceback (most recent call last):\n  File "__test__.py", line {line}, in {test}\n'
    "    self.assertEqual(result, {wanted})\n"
    "AssertionError: {given} != {wanted}\n"
)


class Recorded(NamedTuple):
    """Recorded answer of a model, and its verdict."""

    answer: str
    solution: str
    status: str
    details: dict[str, str]
    """Failing test → traceback."""


def recorded_answers(files: list[Path]) -> dict[str, list[Recorded]]:
    """Read the answers to each task with their statuses; a file without results gives failures without a trace."""
    found: dict[str, list[Recorded]] = {}
    for path in files:
        results = path.with_name(path.name.replace(".jsonl.gz", "_eval_results.json.gz"))
        judged = json.loads(gzip.decompress(results.read_bytes()))["eval"] if results.is_file() else {}
        for line in gzip.decompress(path.read_bytes()).splitlines():
            row = json.loads(line)
            [entry] = judged.get(row["task_id"], [{"status": "fail", "details": {}}])
            answer = Recorded(row["raw_solution"], row["solution"], entry["status"], entry["details"])
            found.setdefault(row["task_id"], []).append(answer)
    return found


def starter_answers() -> dict[str, list[Recorded]]:
    """Return the starter set's answers for the repeated tasks; every second one fails with a trace."""
    path = Path(__file__).parents[1] / "data" / "starter" / "answers.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answers = [
        Recorded(row["raw_solution"], row["raw_solution"], "fail" if place % 2 else "pass", _failures(place))
        for place, row in enumerate(rows)
    ]
    return {f"Starter/{n}": [answers[n % len(answers)]] for n in range(_TASKS)}


def _failures(place: int) -> dict[str, str]:
    if place % 2 == 0:
        return {}
    return {
        f"test_case_{n}": _TRACE.format(line=40 + n, test=f"test_case_{n}", given=place * n, wanted=place + n)
        for n in range(1, 1 + place % 5)
    }


def tasks_table(source: str) -> pa.Table:
    """Return the tasks; those of the starter set are repeated up to 1,140."""
    config = DatasetConfig(source=source)
    table = datasets.load_tasks(config, datasets.resolve(config))
    if source != "starter":
        return table
    rows = table.to_pylist()
    repeated = [{**rows[n % len(rows)], "task_id": f"Starter/{n}", "position": n} for n in range(_TASKS)]
    return pa.Table.from_pylist(repeated, schema=TASKS)


def renamed(text: str, source: random.Random) -> str:
    """Change a third of the longer words of the text; equal words change alike."""
    changed: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        word = match.group()
        if word not in changed:
            changed[word] = f"{word[:3]}{source.randrange(36**3):x}" if source.random() < 1 / 3 else word
        return changed[word]

    return re.sub(r"[a-z]{5,}", other, text)


def model_rows(
    tasks: list[dict[str, Any]], recorded: dict[str, list[Recorded]], model: int
) -> Iterator[tuple[Any, ...]]:
    """Yield one row each of samples, solutions and verdicts for every task."""
    source = random.Random(model)  # makes the same store every time
    for task in tasks:
        answers = recorded[task["task_id"]]
        given = answers[model % len(answers)]
        answer = renamed(given.answer, source)
        # Equal words change alike, so that the answer still contains the solution, as real answers do.
        solution = answer if given.answer == given.solution else _within(answer, given)
        key = {"task_id": task["task_id"], "sample_index": 0}
        yield (
            {**_blank(SAMPLES), **key, "raw_text": answer, "prompt_tokens": 300, "completion_tokens": len(answer) // 4},
            {**_blank(SOLUTIONS), **key, "sanitizer": "parity", "solution": solution, "syntax_ok": True},
            {**_verdict(task, given), **key},
        )


def _within(answer: str, given: Recorded) -> str:
    start = given.answer.find(given.solution[:40])
    return answer[max(0, start) : max(0, start) + len(given.solution)]


def _verdict(task: dict[str, Any], given: Recorded) -> dict[str, Any]:
    failing = [
        {"name": name, "outcome": "fail", "seconds": 0.01, "trace": trace} for name, trace in given.details.items()
    ]
    return {
        **_blank(VERDICTS),
        "task_id": task["task_id"],
        "variant": "calibrated",
        "sanitizer": "parity",
        "status": given.status,
        "failure_kind": "" if given.status == "pass" else "assertion",
        "tests": failing,
        "wall_seconds": 1.0,
        "cpu_seconds": 0.7,
        "attempts": 1,
        "exit": "exit 0",
    }


def _blank(schema: pa.Schema) -> dict[str, Any]:
    """Return an empty row: null in nullable columns, otherwise the zero of the type."""
    zeros = {"string": "", "bool": False, "int32": 0, "int64": 0, "double": 0.0}
    return {entry.name: None if entry.nullable else zeros.get(str(entry.type), []) for entry in schema}


def fill_store(root: Path, tasks: pa.Table, recorded: dict[str, list[Recorded]], models: int) -> None:
    """Fill a store with one recorded run per model."""
    store = open_store(root)
    task_rows = tasks.to_pylist()
    truths = [
        {**_verdict(task, Recorded("", "", "pass", {})), "sample_index": 0, "sanitizer": "none"} for task in task_rows
    ]
    _publish(store, "dataset", "tasks", tasks)
    _publish(store, "execution", "truths", pa.Table.from_pylist(truths, schema=VERDICTS))
    for model in range(models):
        columns = zip(*model_rows(task_rows, recorded, model), strict=True)
        for (stage, schema), rows in zip(
            {"generation": SAMPLES, "sanitizing": SOLUTIONS, "execution": VERDICTS}.items(), columns, strict=True
        ):
            _publish(store, stage, f"model-{model}", pa.Table.from_pylist(list(rows), schema=schema))
        _record(store, model)


def _publish(store: Store, stage: str, key: str, table: pa.Table) -> None:
    store.publish(stage, key, table, settings={})


def _record(store: Store, model: int) -> None:
    key = f"model-{model}"
    paths = {"tasks": ("dataset", "tasks"), "ground_truth": ("execution", "truths")}
    paths |= {"verdicts": ("execution", key), "solutions": ("sanitizing", key)}
    files = {name: store.folder(*place) / "part-0.parquet" for name, place in paths.items()}
    metrics = aggregate(**files, split="complete", subset="full", k=(1,))
    _publish(store, "aggregation", key, metrics.cast(METRICS))
    started = _STARTED + timedelta(hours=model)
    record = {
        "run": f"sweep+{model}",
        "model": f"org--model-{model:02}-instruct",
        "started_at": started.isoformat(),
        "finished_at": (started + timedelta(minutes=41)).isoformat(),
        "config": {"dataset": {"split": "complete", "subset": "full"}},
        "artifacts": {"dataset": "tasks", "ground_truth": "truths"}
        | dict.fromkeys(("generation", "sanitizing", "execution", "aggregation"), key),
    }
    folder = store.root / "runs"
    folder.mkdir(exist_ok=True)
    (folder / f"{started:%Y%m%dT%H%M%S}-{model:03}.json").write_text(json.dumps(record))


def measure(root: Path) -> bool:
    """Write the report of all runs and print its cost; return True if time and size keep the limits."""
    started, cpu_started = time.perf_counter(), time.process_time()
    runs = select_runs(root, ["sweep+*"])
    written = write_report(runs, root / "report.html")
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    samples = sum(row["n_samples"] for run in runs for row in run.of_lead("sample_count"))
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("| runs | samples | seconds | CPU s | MB | characters of a failed, a passed text | peak memory, MiB |")
    print("|---:|---:|---:|---:|---:|---|---:|")
    limit, megabytes = written.text_limit, written.size_bytes / 1e6
    print(
        f"| {len(runs)} | {samples:,} | {seconds:.1f} | {cpu_seconds:.1f} | {megabytes:.1f} | {limit.failed:,}, "
        f"{limit.passed:,} | {memory_mib:,.0f} |"
    )
    return seconds <= _MOST_SECONDS and written.size_bytes <= MAX_BYTES


def main() -> None:
    """Fill a store and measure the report over it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--tasks", nargs="+", type=Path, help="task file, then recorded sample files, JSONL.gz")
    parser.add_argument("--keep", type=Path, help="folder for the store and the report")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or Path(temporary)
        files = arguments.tasks or []
        tasks = tasks_table(str(files[0]) if files else "starter")
        recorded = recorded_answers(files[1:]) if files else starter_answers()
        fill_store(root, tasks, recorded, arguments.models)
        sys.exit(0 if measure(root) else 1)


if __name__ == "__main__":
    main()
