"""Measure executions per second and core for several ways to execute the same programs.

    python benchmarks/head_to_head.py --data ../shared --out FOLDER                    # 80 tasks of BigCodeBench
    python benchmarks/head_to_head.py --tasks starter --ways fresh,ours --out FOLDER

Programs are ground truths that pass: of the starter set, or of tasks of BigCodeBench whose tests take less than a
second, spread evenly. The ways take turns:

    fresh     a new interpreter for each, `python -m unittest` on program and test, without sandbox and without limits
    original  bigcodebench's own evaluate and untrusted_check; in the environment bigcodebench only
    ours      this project's local backend, warm: sandbox, limits and harness

One-time starts are not counted: the original's imports, our zygotes. As many programs run at a time as there are cores;
for ours eight times as many are in flight, as its settings say, and as many as cores compute. A way that is not
installed is left out and named. Prints a Markdown table; every figure goes to FOLDER/figures.json.
"""

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from measuring import table
from original import load_tasks, run_original

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, RunConfig, load_settings
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, EnvironmentUnusableError
from bigcodeflow.core.schemas import TASKS, table_of
from bigcodeflow.execution.planning import plan_ground_truths
from bigcodeflow.judge.backend_registry import make_backend
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow.judge.host.bubblewrap import variables
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict

_WAYS = ("fresh", "original", "ours")
_UNITTEST = ("-m", "unittest", "-q", "sample")
_SAMPLE_SECONDS = 120
#: For BigCodeBench tasks with longer tests, the measurement would show mostly the tests' work.
_SUITE_SECONDS = 1.0


class Round(NamedTuple):
    """One pass over all programs."""

    wall_seconds: float
    cpu_seconds: float
    passed: int


class Programs(NamedTuple):
    """Programs to execute, in the forms that the ways need."""

    tasks: list[dict[str, Any]]
    items: list[WorkItem]
    folder: Path
    """Holds for each program N/sample.py: program and test in one file."""
    config: RunConfig
    environment: InstalledEnvironment
    cores: int


Way = Callable[[], Round]


def main() -> None:
    arguments = _arguments()
    try:
        rounds, left_out = measured(arguments)
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    report = report_of(rounds, arguments.executions, arguments.cores)
    report += "".join(f"\nLeft out: {name}: {reason}\n" for name, reason in left_out.items())
    print(report)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        passes = {name: [one._asdict() for one in own] for name, own in rounds.items()}
        asked = {name: str(value) for name, value in vars(arguments).items()}
        figures = {"arguments": asked, "rounds": passes, "left_out": left_out}
        (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1))
        (arguments.out / "report.md").write_text(report)
    sys.exit(0 if rounds else 1)


def measured(arguments: argparse.Namespace) -> tuple[dict[str, list[Round]], dict[str, str]]:
    """Measure the rounds of each way; return them, and the reasons why ways were left out."""
    with ExitStack() as stack:
        settings = [*arguments.set, f"execution.environment={arguments.environment}"]
        left_out: dict[str, str] = {}
        programs = _programs(arguments, tuple(settings), Path(stack.enter_context(tempfile.TemporaryDirectory())))
        ready: dict[str, Way] = {}
        for name in arguments.ways:
            try:
                ready[name] = stack.enter_context(_READY[name](programs))
            except BigCodeFlowError as error:
                left_out[name] = str(error)
        rounds: dict[str, list[Round]] = {name: [] for name in ready}
        for number in range(arguments.rounds):
            turn = number % max(1, len(ready))
            for name in [*ready][turn:] + [*ready][:turn]:
                print(f"{time.strftime('%H:%M:%S')} round {number + 1}, {name} …", file=sys.stderr, flush=True)
                rounds[name].append(ready[name]())
    return rounds, left_out


def _programs(arguments: argparse.Namespace, settings: tuple[str, ...], folder: Path) -> Programs:
    if arguments.tasks == "starter":
        config = DatasetConfig(source="starter")
        tasks: list[dict[str, Any]] = datasets.load_tasks(config, datasets.resolve(config)).to_pylist()
    elif arguments.data:
        tasks = quick_tasks(load_tasks(arguments.data), arguments.data, arguments.executions)
    else:
        raise ConfigError("--tasks bigcodebench needs --data, the folder of the reference data")
    tasks = [tasks[number % len(tasks)] for number in range(arguments.executions)]
    run = load_settings({}, "benchmark", settings)
    environment = find_environment(arguments.environment)
    planned = plan_ground_truths(table_of(tasks, schema=TASKS), config=run.execution, environment=environment)
    items = [plan.item for plan in planned]
    folder.chmod(0o755)
    for number, item in enumerate(items):
        (folder / str(number)).mkdir()
        (folder / str(number) / "sample.py").write_text(f"{item.program}\n\n{item.test}\n")
    return Programs(tasks, items, folder, run, environment, arguments.cores)


def quick_tasks(tasks: Sequence[dict[str, Any]], data: Path, count: int) -> list[dict[str, Any]]:
    """Return at most `count` tasks, spread evenly, whose ground truth passes in less than a second."""
    with (data / "env" / "ground_truth.csv").open(newline="") as file:
        names = {row["task_id"] for row in csv.DictReader(file) if _is_quick(row)}
    quick = [task for task in tasks if task["task_id"] in names]
    count = min(count, len(quick))
    return [quick[number * len(quick) // count] for number in range(count)]


def _is_quick(row: dict[str, str]) -> bool:
    seconds = (float(row[name] or 0) for name in ("suite_wall_seconds", "suite_cpu_seconds"))
    return row["status"] == "pass" and max(seconds) <= _SUITE_SECONDS


@contextmanager
def _fresh(programs: Programs) -> Iterator[Way]:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        if programs.environment.home_template:
            shutil.copytree(programs.environment.home_template, home)
        known = variables(programs.environment) | {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}

        def passes(number: int) -> bool:
            with tempfile.TemporaryDirectory(dir=name, ignore_cleanup_errors=True) as work:
                chosen = known | {"PYTHONPATH": str(programs.folder / str(number)), "TMPDIR": work}
                command = [str(programs.environment.python), *_UNITTEST]
                with suppress(subprocess.TimeoutExpired):
                    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                    return not subprocess.run(
                        command, cwd=work, env=chosen, check=False, timeout=_SAMPLE_SECONDS, **quiet
                    ).returncode
            return False

        yield lambda: _pooled(passes, programs, programs.cores)


@contextmanager
def _original(programs: Programs) -> Iterator[Way]:
    if programs.environment.name != "bigcodebench":
        raise EnvironmentUnusableError("the original runs in the environment bigcodebench only: --environment names it")
    ids = {task["task_id"] for task in programs.tasks}
    if len(ids) < len(programs.tasks):
        raise ConfigError(f"the original executes a task once: ask for at most {len(ids)} --executions")

    def one() -> Round:
        run = run_original(programs.tasks, workers=programs.cores)
        passed = sum(row["status"] == "pass" for row in run.tasks)
        took = run.measured
        return Round(took.wall_seconds - run.start_seconds, took.cpu_seconds - run.start_cpu_seconds, passed)

    yield one


@contextmanager
def _ours(programs: Programs) -> Iterator[Way]:
    config, environment = programs.config.execution, programs.environment
    with closing(make_backend(config, environment, cores=programs.cores)) as backend:
        backend.check()
        items = backend.prepare(programs.items)

        def passes(number: int) -> bool:
            found = verdict(items[number], backend.execute(items[number]), backend="local", environment_sha="")
            return bool(found["status"] == "pass")

        def one() -> Round:
            return _pooled(passes, programs, config.slots_per_worker * programs.cores)

        one()  # zygotes import the libraries of the programs
        yield one


_READY = {"fresh": _fresh, "original": _original, "ours": _ours}


def _pooled(passes: Callable[[int], bool], programs: Programs, in_flight: int) -> Round:
    cpu, began = _cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(in_flight) as pool:
        passed = sum(pool.map(passes, range(len(programs.items))))
    wall_seconds = time.perf_counter() - began
    return Round(wall_seconds, _cpu_seconds() - cpu, passed)


def _cpu_seconds() -> float:
    """Return the CPU time of this process, its descendants, and the ended children for which they waited."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def report_of(rounds: dict[str, list[Round]], executions: int, cores: int) -> str:
    """Return the medians as a Markdown table."""
    walls = {name: statistics.median(one.wall_seconds for one in own) for name, own in rounds.items()}
    lines = []
    for name, own in rounds.items():
        rate, cpu = executions / walls[name], statistics.median(one.cpu_seconds for one in own)
        ratio = f"{walls[name] / walls['ours']:.1f}" if "ours" in walls else ""
        cells = [f"{walls[name]:.1f}", f"{rate:.1f}", f"{rate / cores:.2f}", f"{1000 * cpu / executions:.0f}", ratio]
        lines.append([name, *cells, min(one.passed for one in own)])
    number = max(map(len, rounds.values()), default=0)
    head = ["way", "wall, s", "a second", "a second and core", "CPU each, ms", "wall, times ours", "passed"]
    return f"{executions} ground truths, {cores} cores, median of {number} rounds in turn\n\n{table(head, lines)}"


def _ways(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(_WAYS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(_WAYS)}")
    return names


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", choices=["starter", "bigcodebench"], default="bigcodebench")
    parser.add_argument("--data", type=Path, help="folder of the reference data, for the tasks of BigCodeBench")
    parser.add_argument("--environment", help="sandbox environment; the tasks' own where nothing is given")
    parser.add_argument("--ways", type=_ways, default=list(_WAYS), help="which, separated by commas")
    parser.add_argument("--executions", type=int, help="programs a round; 80, or the starter set's 45")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="executions that compute")
    parser.add_argument("--set", action="append", default=[], help="a setting of ours")
    parser.add_argument("--out", type=Path, help="folder for figures.json and report.md")
    arguments = parser.parse_args()
    arguments.environment = arguments.environment or arguments.tasks
    arguments.executions = arguments.executions or (45 if arguments.tasks == "starter" else 80)
    return arguments


if __name__ == "__main__":
    main()
