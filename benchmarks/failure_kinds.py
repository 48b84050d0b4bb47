"""Compare the failure kinds of verdicts with 200 kinds that were assigned by hand.

    python benchmarks/failure_kinds.py --data ../shared/data [--execute]

Each label in failure_labels.csv was assigned by reading program, test and traceback of a recorded failure, using the
definitions in ``failure_kinds.KINDS``: the kind of the first failing test. The samples were drawn at random, by model
and by the kind that the classifier of that time gave. Prints a Markdown table and every disagreement. ``--execute``
also executes the samples in the environment bigcodebench and compares the kinds of those that fail there too. Exit
code 1 below 97 %.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, LimitsConfig
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.failure_kinds import KINDS, setup_names
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import work_item
from bigcodeflow.judge.verdicts import verdict
from bigcodeflow_harnesses.importing.reading import Entry, read_results
from bigcodeflow_harnesses.importing.verdict_rows import sample_verdict

PROMISED_AGREEMENT = 0.97
LABELS = Path(__file__).with_name("failure_labels.csv")


class Compared(NamedTuple):
    """One labelled failure."""

    half: str
    """tuning: read before the classifier was written; held-out: compared once, after it was finished."""
    model: str
    task_id: str
    label: str
    found: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--execute", action="store_true")
    arguments = parser.parse_args()
    good = report("recorded tracebacks", recorded(arguments.data))
    if arguments.execute:
        good &= report("executed here", executed(arguments.data))
    sys.exit(0 if good else 1)


def recorded(data: Path) -> list[Compared]:
    """Pair the labels with the kinds that an import of the recorded results gives."""
    tasks, entries = _tasks(data), _entries(data)
    found = []
    for label in labels():
        entry = entries[label["model"], label["task_id"]]
        row = sample_verdict(entry, tasks[label["task_id"]], variant="calibrated")
        found.append(_compared(label, row))
    return found


def executed(data: Path) -> list[Compared]:
    """Pair the labels with the kinds of an execution, without time-outs and without samples that pass here."""
    tasks, entries = _tasks(data), _entries(data)
    wanted = [label for label in labels() if label["failure_kind"] != "timeout"]
    environment, limits = find_environment("bigcodebench"), LimitsConfig()
    sha = environment.environment_sha
    items = [
        work_item(
            program=entries[label["model"], label["task_id"]].program,
            task=tasks[label["task_id"]],
            missing_imports=frozenset(),
            environment_sha=sha,
            limits=limits,
        )
        for label in wanted
    ]
    prompts = [tasks[label["task_id"]]["code_prompt"] for label in wanted]
    items = [replace(one, setup_names=setup_names(prompt)) for one, prompt in zip(items, prompts, strict=True)]
    with closing(LocalBackend(environment, limits, warm=True)) as backend, ThreadPoolExecutor(2) as pool:
        backend.check()
        items = list(backend.prepare(items))
        outcomes = list(pool.map(backend.execute, items))
    rows = [verdict(item, one, backend="local", environment_sha=sha) for item, one in zip(items, outcomes, strict=True)]
    pairs = zip(wanted, rows, strict=True)
    return [_compared(label, row) for label, row in pairs if row["status"] in ("fail", "syntax_error")]


def labels() -> list[dict[str, str]]:
    """Read the lines of the label file: half, model, task_id, failure_kind, reason."""
    with LABELS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def agreement(compared: Iterable[Compared]) -> float:
    """Return the share of the labels that agree with the verdicts."""
    agreeing = [one.label == one.found for one in compared]
    return sum(agreeing) / len(agreeing)


def report(title: str, compared: list[Compared]) -> bool:
    """Print the agreement; return True if it is high enough in both halves."""
    halves = {half: [one for one in compared if one.half == half] for half in ("tuning", "held-out")}
    print(f"\n| kind, {title} | " + " | ".join(halves) + " |\n| --- | ---: | ---: |")
    for kind in KINDS:
        counts = {
            half: Counter(one.found == kind for one in ones if one.label == kind) for half, ones in halves.items()
        }
        if any(counts.values()):
            print(f"| {kind} | " + " | ".join(f"{found[True]} of {found.total()}" for found in counts.values()) + " |")
    print("| all | " + " | ".join(f"{agreement(ones):.1%} of {len(ones)}" for ones in halves.values()) + " |")
    for one in compared:
        if one.label != one.found:
            print(f"- {one.model} {one.task_id} ({one.half}): {one.label} by hand, {one.found} here")
    return all(agreement(ones) >= PROMISED_AGREEMENT for ones in halves.values())


def _compared(label: Mapping[str, str], row: Mapping[str, Any]) -> Compared:
    return Compared(label["half"], label["model"], label["task_id"], label["failure_kind"], row["failure_kind"])


def _tasks(data: Path) -> dict[str, dict[str, Any]]:
    config = DatasetConfig(source=str(data / "bigcodebench-v0.1.4.parquet"))
    return {task["task_id"]: task for task in datasets.load_tasks(config, datasets.resolve(config)).to_pylist()}


def _entries(data: Path) -> dict[tuple[str, str], Entry]:
    files = (data / "samples").glob("*/*_eval_results.json.gz")
    return {(file.parent.name, entry.task_id): entry for file in files for entry in read_results(file).entries}


if __name__ == "__main__":
    main()
