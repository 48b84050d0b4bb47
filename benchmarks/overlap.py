"""Compare the time of a whole run with the longer of its two parts: asking a model and executing its answers.

    python benchmarks/overlap.py --data ../shared --out FOLDER [--rounds 3] [--ids 0-99]

The model is a server on loopback that gives the recorded answers of Qwen2.5-Coder-7B-Instruct to the tasks of
BigCodeBench-Hard, each after two seconds. First the answers are executed once; from this time the number of concurrent
requests is chosen such that asking takes as long. Then each round measures, in separate processes: asking alone, in a
fresh store; executing alone, in a copy of that store; the whole run, in a fresh store. Ground truths and checks of
passes are part of executing. Prints a Markdown table; every figure goes to FOLDER/figures.json.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import yaml
from generation import served
from parity import SAMPLE_FILES
from sandbox_meter import Measured, measure
from sandbox_tables import Goal, table

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError

_CALL = "import sys, bigcodeflow as bcf; getattr(bcf, sys.argv[1])(bcf.load_config(sys.argv[2]))"
_COMMAND_LINE = "from bigcodeflow.cli.main import main; main()"
GOAL = 1.15


class Round(NamedTuple):
    """Wall seconds of each part, and passed samples in the two kinds of execution."""

    load_before: float
    asking: float
    executing: float
    whole: float
    passed_alone: int
    passed_whole: int

    @property
    def over_longer(self) -> float:
        """Ratio of the whole run to the longer of its parts."""
        return self.whole / max(self.asking, self.executing)


def main() -> None:
    arguments = _arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        chosen = _dataset(arguments)
        tasks = datasets.load_tasks(chosen, datasets.resolve(chosen)).to_pylist()
        with served(recorded_answers(tasks, arguments.data), arguments.latency) as port:
            settings = settings_of(arguments, chosen, port)
            concurrency = arguments.concurrency or _balanced(settings, len(tasks), arguments)
            rounds = [_round(settings, concurrency, arguments) for _ in range(arguments.rounds)]
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    report = report_of(rounds, len(tasks), concurrency, arguments.latency)
    asked = {name: str(value) for name, value in vars(arguments).items()}
    figures = {"arguments": asked, "tasks": len(tasks), "concurrency": concurrency}
    figures["rounds"] = [one._asdict() | {"over_longer": one.over_longer} for one in rounds]
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1))
    (arguments.out / "report.md").write_text(report)
    print(report)


def _dataset(arguments: argparse.Namespace) -> DatasetConfig:
    source = arguments.data / "data" / "bigcodebench-v0.1.4.parquet"
    return DatasetConfig(source=str(source.resolve()), subset=arguments.subset, ids=arguments.ids)


def recorded_answers(tasks: Sequence[Mapping[str, Any]], data: Path) -> dict[str, str]:
    """Return Qwen's answers to these tasks, by a part of the prompt that no other task has."""
    with gzip.open(data / "data" / f"{SAMPLE_FILES['qwen']}.jsonl.gz", "rt") as file:
        answers = {row["task_id"]: row["raw_solution"] for row in map(json.loads, file)}
    return {task["complete_prompt"].strip(): f"```python\n{answers[task['task_id']]}\n```" for task in tasks}


def settings_of(arguments: argparse.Namespace, dataset: DatasetConfig, port: int) -> dict[str, Any]:
    """Return a preset of the whole run, without its folders and its concurrency."""
    return {
        "dataset": dataset.model_dump(exclude_defaults=True),
        "samples": {"source": "model"},
        "generation": {"model": "openai:recorded", "base_url": f"http://127.0.0.1:{port}/v1"},
        "execution": {"environment": arguments.environment},
    }


def balanced(tasks: int, latency_seconds: float, executing_seconds: float) -> int:
    """Return the number of concurrent requests with which asking takes about as long as executing."""
    return max(1, min(tasks, round(tasks * latency_seconds / executing_seconds)))


def _balanced(settings: Mapping[str, Any], tasks: int, arguments: argparse.Namespace) -> int:
    _timed("generate", settings, tasks, arguments.out / "first", arguments)
    executing = _timed("run", settings, tasks, arguments.out / "first", arguments)
    return balanced(tasks, arguments.latency, executing.wall_seconds)


def _round(settings: Mapping[str, Any], concurrency: int, arguments: argparse.Namespace) -> Round:
    load = os.getloadavg()[0]
    alone, both = arguments.out / "alone", arguments.out / "both"
    for folder in (alone, both):
        shutil.rmtree(folder, ignore_errors=True)
    timed = partial(_timed, settings=settings, concurrency=concurrency, arguments=arguments)
    asking = timed("generate", folder=alone)
    shutil.copytree(alone / "store", alone / "copy" / "store")
    executing = timed("run", folder=alone / "copy")
    whole = timed("prefect" if arguments.prefect else "run", folder=both)
    walls = (asking.wall_seconds, executing.wall_seconds, whole.wall_seconds)
    return Round(load, *walls, _passed(alone / "copy"), _passed(both))


def _timed(
    verb: str, settings: Mapping[str, Any], concurrency: int, folder: Path, arguments: argparse.Namespace
) -> Measured:
    """Run a stage or a whole run in the store of a folder, in a separate process."""
    print(f"{time.strftime('%H:%M:%S')} {verb} in {folder}, {concurrency} at once …", file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    preset, log = folder / "preset.yaml", arguments.out / "last.log"
    generation = settings["generation"] | {"requests": {"concurrency": concurrency}}
    folders = {"store": str(folder / "store"), "out": str(folder / "results")}
    preset.write_text(yaml.safe_dump({**settings, **folders, "generation": generation}))
    called = [_COMMAND_LINE, "run"] if verb == "prefect" else [_CALL, verb]
    done = measure([sys.executable, "-c", *called, str(preset)], log=log)
    if done.exit_code:
        output = " ".join(log.read_text(errors="replace").split())[-400:]
        raise ExecutionError(f"{verb} ended with exit code {done.exit_code} ({output}): see {log}")
    return done


def _passed(folder: Path) -> int:
    verdicts = pq.read_table(folder / "results" / "verdicts.parquet", columns=["status"])
    return verdicts["status"].to_pylist().count("pass")


def report_of(rounds: Sequence[Round], tasks: int, concurrency: int, latency_seconds: float) -> str:
    """Return Markdown of every round and of their median."""
    lines = [
        [
            number,
            f"{one.load_before:.1f}",
            *(f"{seconds:.1f}" for seconds in (one.asking, one.executing, one.whole)),
            f"{one.over_longer:.2f}",
            f"{one.passed_alone} and {one.passed_whole}",
        ]
        for number, one in enumerate(rounds, 1)
    ]
    head = [
        "round",
        "load before",
        "asking alone, s",
        "executing alone, s",
        "whole, s",
        "whole / longer part",
        "passed",
    ]
    median = statistics.median(one.over_longer for one in rounds)
    goal = Goal(median, "whole run over the longer part, median", GOAL, at_least=False)
    return (
        f"{tasks} tasks, answers after {latency_seconds:g} s, {concurrency} requests at once\n\n{table(head, lines)}\n"
        + table(["goal", "measured", "asked", "met"], [goal.cells()])
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="folder for stores, figures.json and report.md")
    parser.add_argument("--subset", choices=["full", "hard"], default="hard")
    parser.add_argument("--ids", default="", help="tasks of the subset, such as '0-99'; empty takes all")
    parser.add_argument("--environment", default="bigcodebench", help="sandbox environment")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds that the server takes for an answer")
    parser.add_argument("--concurrency", type=int, default=0, help="requests at once; 0: as long as executing takes")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--prefect", action="store_true", help="the whole run under Prefect; start a server before")
    return parser.parse_args()


if __name__ == "__main__":
    main()
