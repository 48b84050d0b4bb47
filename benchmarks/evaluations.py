"""Units of measurement: `bigcodeflow evaluate`, or the original, on recorded answers to BigCodeBench.

Each unit of ours runs in a store of its own, which knows nothing, the ground truths, or also the contradictions that
an earlier unit with the same answers has validated. Each measured command is a separate process.
"""

import argparse
import gzip
import hashlib
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from measuring import Measured, measure, measured_once
from original import load_tasks, run_original
from parity import SAMPLE_FILES

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.pipeline.live_files import live_runs

UNCHECKED = "execution.integrity=off"
_HERE = (sys.executable, "-c", "from bigcodeflow.cli.main import main; main()")
_COLUMNS = ["task_id", "status", "wall_seconds", "cpu_seconds", "test_cpu_seconds"]
#: A stated time left is believable within this factor, or within these seconds.
_FACTOR, _NEAR_SECONDS = 2.0, 10.0

Row = Mapping[str, Any]
Run = Mapping[str, Any]
"""One measured command: answers, side, wall_seconds, cpu_seconds, …, rows (one per task)."""


class Unit(NamedTuple):
    """One measurement to make."""

    answers: str
    """qwen, gemma, strong (each ground truth with a comment), or oracle (ground truths, each executed once)."""
    side: str
    """fresh (in an empty store), first, again, unchecked; original or, with its ground truths, original fresh."""
    subset: str
    task_ids: tuple[str, ...]
    environment: str
    workers: int
    settings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Identity of the measurement, used to recognise a finished one."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:16]


def measured_units(units: Sequence[Unit], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the run of each unit; make those that ``arguments.out`` lacks, for ``arguments.ids`` of ``data``."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    return measured_once(arguments.out / "runs.jsonl", units, lambda unit: _measured(unit, arguments))


def _measured(unit: Unit, arguments: argparse.Namespace) -> dict[str, Any]:
    print(f"{time.strftime('%H:%M:%S')} {unit.answers}, {unit.subset}, {unit.side} …", file=sys.stderr, flush=True)
    tasks = load_tasks(arguments.data, arguments.ids, unit.subset)
    if unit.side.startswith("original"):
        run = run_original(
            tasks,
            workers=unit.workers,
            solutions=solutions_of(unit.answers, tasks, arguments.data),
            ground_truths=unit.side == "original fresh",
        )
        found = run.measured._asdict() | {"start_seconds": run.start_seconds, "rows": run.tasks}
    else:
        found = _run_here(unit, tasks, arguments)
    return unit._asdict() | found


def solutions_of(answers: str, tasks: Sequence[Mapping[str, Any]], data: Path) -> dict[str, str]:
    """Return recorded answers to these tasks by task_id.

    A strong model's answers are the ground truths, each with a comment, so that they are executed as any answer.
    """
    if answers == "strong":
        return {task["task_id"]: f"{task['code_prompt']}{task['canonical_solution']}\n# A.\n" for task in tasks}
    with gzip.open(data / "data" / f"{SAMPLE_FILES[answers]}.jsonl.gz", "rt") as file:
        recorded = {row["task_id"]: row["solution"] for row in map(json.loads, file)}
    return {task["task_id"]: recorded[task["task_id"]] for task in tasks}


def _run_here(unit: Unit, tasks: Sequence[Mapping[str, Any]], arguments: argparse.Namespace) -> dict[str, Any]:
    """Run `bigcodeflow evaluate` once, in a store that is made for it."""
    store, known = arguments.out / "store", arguments.out / f"contradictions-{unit.answers}"
    shutil.rmtree(store, ignore_errors=True)
    if unit.side != "fresh":
        shutil.copytree(_prepared_store(unit, arguments), store)
    if unit.side == "again" and known.exists():
        shutil.copytree(known, store / "contradictions", dirs_exist_ok=True)
    with forecasts(store) as errors:
        done = evaluated(unit, _sample_file(unit, tasks, arguments), store, arguments)
    if unit.side == "first":
        shutil.rmtree(known, ignore_errors=True)
        if (store / "contradictions").exists():  # none is made where no sample passes
            shutil.copytree(store / "contradictions", known)
    rows = pq.read_table(arguments.out / "results" / "verdicts.parquet", columns=_COLUMNS).to_pylist()
    within = sum(error <= _FACTOR for error in errors) / len(errors) if errors else 0.0
    return done._asdict() | {"rows": rows, "eta_within_factor": within}


def _sample_file(unit: Unit, tasks: Sequence[Mapping[str, Any]], arguments: argparse.Namespace) -> str:
    """Write the unit's samples; return the path of the file, or 'oracle'."""
    if unit.answers == "oracle":
        return "oracle"
    path: Path = arguments.out / f"{unit.answers}.jsonl"
    with path.open("w") as file:
        for name, solution in solutions_of(unit.answers, tasks, arguments.data).items():
            file.write(json.dumps({"task_id": name, "solution": solution}) + "\n")
    return str(path)


def _prepared_store(unit: Unit, arguments: argparse.Namespace) -> Path:
    """Return a store with the ground truths: an empty function makes them judged, and nothing is checked."""
    settings = tuple(one for one in unit.settings if one != UNCHECKED)
    folder: Path = arguments.out / f"prepared-{unit._replace(answers='', side='', workers=0, settings=settings).key}"
    if not folder.exists():
        aside = arguments.out / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        evaluated(unit, "stub", aside, arguments)
        aside.rename(folder)
    return folder


def evaluated(unit: Unit, samples: str, store: Path, arguments: argparse.Namespace) -> Measured:
    """Judge samples by `bigcodeflow evaluate`, with results in the folder ``results`` of ``arguments.out``."""
    out, log = arguments.out / "results", arguments.out / "last.log"
    dataset = str(arguments.data / "data" / "bigcodebench-v0.1.4.parquet")
    command = [*_HERE, "evaluate", "--samples", samples, "--dataset", dataset, "--subset", unit.subset]
    command += ["--store", str(store), "--out", str(out), *(["--ids", arguments.ids] if arguments.ids else [])]
    command += ["--environment", unit.environment, "--workers", str(unit.workers)]
    for setting in unit.settings:
        command += ["--set", setting]
    shutil.rmtree(out, ignore_errors=True)
    done = measure(command, log=log)
    if done.exit_code:
        output = " ".join(log.read_text(errors="replace").split())[-400:]
        raise ExecutionError(f"bigcodeflow evaluate ended with exit code {done.exit_code} ({output}): see {log}")
    return done


@contextmanager
def forecasts(store: Path) -> Iterator[list[float]]:
    """Collect how wrong the time left is that the run in a store states, each second from a third of the way on.

    Each entry is the larger of stated and actual seconds left, divided by the smaller; a difference of less than ten
    seconds counts as 1. The list is filled when the context ends. Nothing is collected while the run states no time.
    """
    stated, errors, ended = list[tuple[float, float]](), list[float](), threading.Event()
    began = time.monotonic()

    def poll() -> None:
        while not ended.wait(1):
            for run in live_runs(store, datetime.now(UTC)):
                if (left := run.eta(datetime.now(UTC))) is not None:
                    stated.append((time.monotonic() - began, left))

    with ThreadPoolExecutor(1) as thread:
        polling = thread.submit(poll)
        try:
            yield errors
        finally:
            ended.set()
    polling.result()
    total = time.monotonic() - began
    for at, left in stated:
        if at >= total / 3:
            actual = total - at
            near = abs(left - actual) < _NEAR_SECONDS
            errors.append(1.0 if near else max(left, actual) / max(1.0, min(left, actual)))
