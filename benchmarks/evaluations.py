"""Units of measurement: `bigcodeflow evaluate`, or the original, on recorded answers to BigCodeBench.

Each unit of ours runs in a store of its own, which knows nothing, the ground truths, or also the contradictions that
an earlier unit with the same answers has validated. Each measured command is a separate process.
"""

import argparse
import gzip
import hashlib
import json
import random
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow.parquet as pq
from measuring import Measured, measure, measured_once
from original import load_tasks, run_original
from parity import SAMPLE_FILES

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.judge.integrity.contradictions import Reference
from bigcodeflow.pipeline.live_files import live_runs

HERE = (sys.executable, "-c", "from bigcodeflow.cli.main import main; main()")
_COLUMNS = [
    "task_id",
    "status",
    "failure_kind",
    "wall_seconds",
    "cpu_seconds",
    "test_cpu_seconds",
    "integrity",
    "tests",
]
_LOOP = "def {entry_point}(*args, **kwargs):\n    while True:\n        pass\n"
_SEED = 17
#: A stated time left is believable within this factor, or within these seconds.
_FACTOR, _NEAR_SECONDS = 2.0, 10.0

Row = Mapping[str, Any]
Run = Mapping[str, Any]
"""One measured command: answers, side, wall_seconds, cpu_seconds, …, rows (one per task)."""


class Unit(NamedTuple):
    """One measurement to make."""

    answers: str
    """qwen, gemma, loops, strong (each ground truth with a comment), or oracle (ground truths, each executed once)."""
    side: str
    """fresh (in an empty store), first, again, unchecked; original or, with its ground truths, original fresh."""
    task_ids: tuple[str, ...]
    environment: str
    workers: int
    time_seconds: float
    loops: int = 0
    settings: tuple[str, ...] = ()
    subset: str = "full"
    copies: int = 1
    """Samples per task: copies of the answer with different comments."""
    turn: int = 1

    @property
    def key(self) -> str:
        """Identity of the measurement, used to recognise a finished one."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:16]


def measured_units(units: Sequence[Unit], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the run of each unit; make those that ``arguments.out`` lacks, for ``arguments.ids`` of ``data``."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    return measured_once(arguments.out / "runs.jsonl", units, lambda unit: _measured(unit, arguments))


def settings_of(side: str, settings: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the settings of one side's measurements."""
    if side.startswith("original"):
        return ()
    return (*settings, "execution.integrity=off") if side == "unchecked" else settings


def _measured(unit: Unit, arguments: argparse.Namespace) -> dict[str, Any]:
    print(f"{time.strftime('%H:%M:%S')} {unit.answers}, {unit.subset}, {unit.side} …", file=sys.stderr, flush=True)
    tasks = load_tasks(arguments.data, arguments.ids, unit.subset)
    if unit.side.startswith("original"):
        run = run_original(
            tasks,
            workers=unit.workers,
            solutions=solutions_of(unit, tasks, arguments.data),
            time_seconds=unit.time_seconds,
            ground_truths=unit.side == "original fresh",
        )
        found = run.measured._asdict() | {"start_seconds": run.start_seconds, "rows": run.tasks}
    else:
        found = _run_here(unit, tasks, arguments)
    return unit._asdict() | found


def solutions_of(unit: Unit, tasks: Sequence[Mapping[str, Any]], data: Path) -> dict[str, str]:
    """Return recorded answers of these tasks by task_id; replace some by endless loops if the unit asks for it.

    A strong model's answers are the ground truths, each with a comment, so that they are executed as any answer.
    """
    if unit.answers == "strong":
        return {task["task_id"]: f"{task['code_prompt']}{task['canonical_solution']}\n# A.\n" for task in tasks}
    name = "qwen" if unit.answers == "loops" else unit.answers
    with gzip.open(data / "data" / f"{SAMPLE_FILES[name]}.jsonl.gz", "rt") as file:
        rows = map(json.loads, file)
        recorded = {row["task_id"]: row["solution"] for row in rows}
    looping = spread(list(unit.task_ids), unit.loops)
    return {
        task["task_id"]: _LOOP.format(**task) if task["task_id"] in looping else recorded[task["task_id"]]
        for task in tasks
    }


def spread(names: Sequence[str], count: int) -> set[str]:
    """Draw `count` of the names, one from each of `count` parts of about equal length; always the same names."""
    chance, count = random.Random(_SEED), min(count, len(names))
    bounds = [number * len(names) // count for number in range(count + 1)] if count else []
    return {names[chance.randrange(low, high)] for low, high in pairwise(bounds)}


def _run_here(unit: Unit, tasks: Sequence[Mapping[str, Any]], arguments: argparse.Namespace) -> dict[str, Any]:
    """Run `bigcodeflow evaluate` once, in a store that is made for it."""
    store, known = arguments.out / "store", arguments.out / f"contradictions-{unit.answers}"
    prepared = None if unit.side == "fresh" else prepared_store(unit, arguments)
    shutil.rmtree(store, ignore_errors=True)
    if prepared:
        shutil.copytree(prepared, store)
    if unit.side == "again" and known.exists():
        shutil.copytree(known, store / "contradictions", dirs_exist_ok=True)
    with forecasts(store) as errors:
        done = evaluated(unit, sample_file(unit, tasks, arguments), store, arguments)
    if unit.side == "first":
        shutil.rmtree(known, ignore_errors=True)
        if (store / "contradictions").exists():  # none is made where no sample passes
            shutil.copytree(store / "contradictions", known)
    rows = pq.read_table(arguments.out / "results" / "verdicts.parquet", columns=_COLUMNS).to_pylist()
    chain_seconds = longest_chain(rows, _ground_truths(store), counts_truths=not prepared)
    for row in rows:
        del row["tests"]
    within = sum(error <= _FACTOR for error in errors) / len(errors) if errors else 0.0
    return done._asdict() | {"rows": rows, "chain_seconds": chain_seconds, "eta_within_factor": within}


def sample_file(unit: Unit, tasks: Sequence[Mapping[str, Any]], arguments: argparse.Namespace) -> str:
    """Write the unit's samples; return the path of the file, or 'oracle'."""
    if unit.answers == "oracle":
        return "oracle"
    path: Path = arguments.out / f"{unit.answers}.jsonl"
    solutions = solutions_of(unit, tasks, arguments.data)
    with path.open("w") as file:
        for number in range(unit.copies):
            for name, solution in solutions.items():
                text = f"{solution}\n# {number}\n" if number else solution
                file.write(json.dumps({"task_id": name, "solution": text}) + "\n")
    return str(path)


def _ground_truths(store: Path) -> list[Row]:
    """Return the verdicts of the ground truths: of the execution that reads tasks only."""
    for path in store.glob("execution/*/manifest.json"):
        if {one["stage"] for one in json.loads(path.read_text())["inputs"]} == {"dataset"}:
            rows: list[Row] = pq.read_table(path.with_name("part-0.parquet"), columns=_COLUMNS).to_pylist()
            return rows
    raise ExecutionError(f"{store} holds no ground truths: delete the folder of --out and measure again")


def longest_chain(rows: Sequence[Row], truths: Sequence[Row], *, counts_truths: bool) -> float:
    """Return the longest wall time of executions of one task that wait for each other.

    A check waits for its sample and, if ``counts_truths``, for the ground truth, which wait for nothing. The store has
    no verdicts of checks. A check takes as long as its sample, but its tests take at most the budget
    that the product gives them. A checked sample has a value of ``integrity``; pauses are not part of wall times.
    """
    budgets = {row["task_id"]: Reference({}, _no_item, "", _seconds(row)).budget_seconds for row in truths}
    before = {row["task_id"]: row["wall_seconds"] if counts_truths else 0.0 for row in truths}

    def seconds(row: Row) -> float:
        check = row["wall_seconds"] - max(0.0, sum(_seconds(row)) - budgets[row["task_id"]])
        return float(max(before[row["task_id"]], row["wall_seconds"]) + (check if row["integrity"] else 0.0))

    return max(map(seconds, rows))


def _seconds(row: Row) -> list[float]:
    return [test["seconds"] for test in row["tests"]]


def _no_item(program: str | None, test: str) -> NoReturn:
    raise NotImplementedError


def prepared_store(unit: Unit, arguments: argparse.Namespace) -> Path:
    """Return a store with the ground truths: an empty function makes them judged, and nothing is checked."""
    settings = tuple(one for one in unit.settings if one not in settings_of("unchecked"))
    identity = unit._replace(answers="", side="", workers=0, loops=0, settings=settings, copies=1, turn=1).key
    folder: Path = arguments.out / f"prepared-{identity}"
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
    command = [*HERE, "evaluate", "--samples", samples, "--dataset", dataset, "--subset", unit.subset]
    command += ["--store", str(store), "--out", str(out), *(["--ids", arguments.ids] if arguments.ids else [])]
    command += ["--environment", unit.environment, "--workers", str(unit.workers)]
    for setting in (f"execution.limits.time_seconds={unit.time_seconds}", *unit.settings):
        command += ["--set", setting]
    shutil.rmtree(out, ignore_errors=True)
    return succeeded(command, log)


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


def succeeded(command: Sequence[str], log: Path) -> Measured:
    """Measure a command of ours; raise an ExecutionError if it fails."""
    done = measure(command, log=log)
    if done.exit_code:
        output = " ".join(log.read_text(errors="replace").split())[-400:]
        raise ExecutionError(f"bigcodeflow evaluate ended with exit code {done.exit_code} ({output}): see {log}")
    return done
