"""Measure what newer libraries change for the 1,140 tasks and two recorded models, and check the causes blindly.

    python benchmarks/evolution.py --data ../shared --store FOLDER                # labels, libraries, scores
    python benchmarks/evolution.py --data ../shared --store FOLDER --ids 0-19 --only qwen
    python benchmarks/evolution.py --data ../shared --store FOLDER --draw 50 --seed 1 --csv drawn.csv
    python benchmarks/evolution.py --data ../shared --store FOLDER --checked drawn.csv

Needs the environments bigcodebench and bigcodebench-current. Prints Markdown. All executions are kept in the store, so
the same command continues where it was stopped. With --draw, tasks that drift or are dead are drawn at random into a
CSV file of task and traceback, without the program's label, cause and library: the person who fills in these columns
from task and traceback does not know them. --checked prints how many of the filled-in cells agree with the program;
empty cells are not compared.
"""

import argparse
import csv
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parity import SAMPLE_FILES

from bigcodeflow import datasets
from bigcodeflow.core.errors import ArtifactError, BigCodeFlowError, ConfigError, ExecutionError
from bigcodeflow.core.table import Table
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.formatting import numbers, percent, percent_range
from bigcodeflow.results.statistics import clustered_interval
from bigcodeflow.store import open_store
from bigcodeflow.studies.evolution import EvolutionConfig
from bigcodeflow.studies.evolution.causes import CAUSES
from bigcodeflow.studies.evolution.removals import evidence_of
from bigcodeflow.studies.evolution.study import executed, run_study, runs_of
from bigcodeflow.studies.evolution.tables import tables

_BIGCODEFLOW = (sys.executable, "-c", "from bigcodeflow.cli.main import main; main()")
_BLIND = ("label", "cause", "library")
_TEXTS = ("code_prompt", "canonical_solution", "test")
_COLUMNS = ("task_id", *_TEXTS, "tracebacks", *_BLIND, "reason")
_SITE = re.compile(r'"[^"\n]*/site-packages/')
_QUOTE = '"'
_TRACE_CHARACTERS = 1_500
_MOST_TRACES = 4


def main() -> None:
    arguments = _arguments()
    try:
        if arguments.draw:
            print(drawn(arguments))
        elif arguments.checked:
            print(checked(arguments.checked, task_rows(arguments)))
        else:
            print(report(arguments))
    except BigCodeFlowError as error:
        sys.exit(f"{error}")


def report(arguments: argparse.Namespace) -> str:
    """Run the study with the recorded models; return its tables as Markdown."""
    for model in arguments.only:
        _record(model, arguments)
    with progress_listener() as listener:
        ref = run_study(_config(arguments, tuple(arguments.only)), listener)
    found = tables(open_store(arguments.store).read(ref))
    return "\n\n".join(filter(None, (table.to_markdown() for table in found)))


def task_rows(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows of EVOLUTION about the reference solutions."""
    with progress_listener() as listener:
        ref = run_study(_config(arguments), listener)
    return open_store(arguments.store).read(ref).to_pylist()


def drawn(arguments: argparse.Namespace) -> str:
    """Write a random sample of the tasks that drift or are dead to the CSV file, without the program's findings."""
    if arguments.csv.exists():
        raise ConfigError(f"{arguments.csv}: is there already, perhaps filled in: name another file with --csv")
    failing = sorted(row["task_id"] for row in task_rows(arguments) if row["label"] in ("drifts", "dead"))
    chosen = random.Random(arguments.seed).sample(failing, min(arguments.draw, len(failing)))
    config = _config(arguments)
    runs = runs_of(config, None)
    with progress_listener() as listener:
        verdicts = executed(runs, listener).now
    view = runs[0].dataset
    tasks = {row["task_id"]: row for row in datasets.load_tasks(view, datasets.resolve(view)).to_pylist()}
    with arguments.csv.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS, restval="")
        writer.writeheader()
        for task_id in chosen:
            texts = {name: tasks[task_id][name] for name in _TEXTS}
            writer.writerow({"task_id": task_id, **texts, "tracebacks": _tracebacks(verdicts[task_id][0])})
    words = f"label: drifts or dead; cause: {', '.join(CAUSES)}; library: an import name, or python"
    return f"{len(chosen)} of {len(failing)} failing tasks are in {arguments.csv}. To be filled in by hand: {words}."


def checked(file: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """Compare the cells filled in by hand with the study: show the shares that agree, and list each difference."""
    found = {row["task_id"]: row for row in rows}
    with file.open(newline="", encoding="utf-8") as opened:
        given = [line for line in csv.DictReader(opened) if any(line[name].strip() for name in _BLIND)]
    if not given:
        raise ConfigError(f"{file}: no line has a label, a cause or a library: fill them in by hand first")
    unknown = [line["task_id"] for line in given if line["task_id"] not in found]
    if unknown:
        raise ArtifactError(f"{file}: {', '.join(unknown[:5])} are none of the study's tasks: give the same --ids")
    shares, differing = [], []
    for name in _BLIND:
        pairs = [(line, found[line["task_id"]]) for line in given if line[name].strip()]
        agree = [line[name].strip().lower() == row[name].lower() for line, row in pairs]
        share = sum(agree) / len(agree) if agree else float("nan")
        ends = percent_range(clustered_interval([float(one) for one in agree]))
        shares.append((name, len(agree), sum(agree), percent(share) if agree else "", ends))
        differing += [
            (line["task_id"], name, line[name], row[name], row["evidence"], line.get("reason", ""))
            for (line, row), same in zip(pairs, agree, strict=True)
            if not same
        ]
    summary = Table.of(("column", *numbers("checked", "agree", "share", "95 % interval")), shares, title="Blind check")
    headings = ("task", "column", "by hand", "by the program", "evidence", "reason")
    parts = (summary, Table.of(headings, differing, title="What does not agree"))
    return "\n\n".join(filter(None, (table.to_markdown() for table in parts)))


def _tracebacks(verdict: Mapping[str, Any]) -> str:
    """Return the tracebacks with different ends, the first of each: many equal ones must not hide the decisive one."""
    traces = [("module", verdict["module_trace"]), *((test["name"], test["trace"]) for test in verdict["tests"])]
    different = {
        evidence_of(trace): f"{name}\n{_SITE.sub(_QUOTE, trace)[-_TRACE_CHARACTERS:]}"
        for name, trace in reversed(traces)
        if trace
    }
    return "\n".join([*reversed(different.values())][:_MOST_TRACES]) or f"{verdict['status']}: {verdict['exit']}"


def _record(model: str, arguments: argparse.Namespace) -> None:
    """Judge the recorded answers of a model in the older environment, unless such a run is recorded."""
    try:
        open_runs(arguments.store, [model], fewest=1)
    except ArtifactError:
        samples = arguments.data / "data" / f"{SAMPLE_FILES[model]}.jsonl.gz"
        places = ["--samples", samples, "--dataset", _dataset(arguments), "--store", arguments.store]
        choices = [
            "--environment",
            arguments.environment,
            "--workers",
            arguments.workers,
            "--out",
            _out(arguments, model),
        ]
        settings = ["--set", f"name={model}", "--set", "execution.integrity=off"]
        ids = ["--ids", arguments.ids] if arguments.ids else []
        command = [*_BIGCODEFLOW, "evaluate", *map(str, (*places, *choices, *settings, *ids))]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            raise ExecutionError(f"{model}: its answers could not be judged: see above") from None


def _out(arguments: argparse.Namespace, model: str) -> Path:
    return Path(arguments.store).with_name(f"{Path(arguments.store).name}-{model}")


def _dataset(arguments: argparse.Namespace) -> Path:
    return Path(arguments.data / "data" / "bigcodebench-v0.1.4.parquet").absolute()


def _config(arguments: argparse.Namespace, runs: tuple[str, ...] = ()) -> EvolutionConfig:
    return EvolutionConfig(
        dataset=str(_dataset(arguments)),
        ids=arguments.ids,
        runs=runs,
        environment=arguments.environment,
        current=arguments.current,
        workers=arguments.workers,
        store=str(arguments.store),
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--store", type=Path, required=True, help="folder of artifacts")
    parser.add_argument("--ids", default="", help="only these tasks, such as 0-19")
    parser.add_argument("--only", nargs="*", default=list(SAMPLE_FILES), choices=list(SAMPLE_FILES), help="models")
    parser.add_argument("--environment", default="bigcodebench")
    parser.add_argument("--current", default="bigcodebench-current")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="draw so many failing tasks for a blind check")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path, default=Path("drawn.csv"), help="file that --draw writes")
    parser.add_argument("--checked", type=Path, help="such a file, filled in by hand")
    return parser.parse_args()


if __name__ == "__main__":
    main()
