"""Measure the overhead of commands: help, cached runs, a small run, and the start of the service.

    python benchmarks/startup.py                    # medians of five
    python benchmarks/startup.py --only up --repeats 3
    python benchmarks/startup.py --only many        # CPU beyond the tests, of 1,140 and of 11,400 samples; once each

Each command is a separate process. Wall seconds grow with other load on the machine, CPU seconds hardly; they include
those of all processes that the command has started, and for `up` those of its service.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import measuring
import psutil
import pyarrow.parquet as pq

from bigcodeflow.core.paths import shipped
from bigcodeflow.prefect_service.folder import ServiceFolder

_SAMPLES = 1_140
_COMMAND = (sys.executable, "-c", "from bigcodeflow.cli.main import main; main()")
_SMALL = ("evaluate", "--samples", "oracle", "--dataset", "starter", "--ids", "0-9")


class Cost(NamedTuple):
    """Cost of one process, with the processes for which it waited."""

    wall_seconds: float
    cpu_seconds: float


def main() -> None:
    """Measure what the options ask for, and print one row for each."""
    measures = {"help": measure_help, "cached": measure_cached, "small": measure_small}
    measures |= {"many": measure_many, "prefect": measure_prefect, "up": measure_up}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="of which the median counts")
    parser.add_argument("--only", choices=measures, help="measure this alone")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores; medians of {options.repeats}")
    for name, measure in measures.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                measure(Path(folder), options.repeats)


def call(*arguments: str, folder: Path) -> Cost:
    """Run a command of the product to its end, and end what it leaves running; return its cost."""
    log = folder / "log"
    done = measuring.measure([*_COMMAND, *arguments], log=log, cwd=folder, env=_environment())
    if done.exit_code:
        raise SystemExit(log.read_text()[-2000:])
    return Cost(done.wall_seconds, done.cpu_seconds)


def service(command: str, folder: Path, **variables: str) -> Cost:
    """Run `up` or `down`; return its cost, without that of the service."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*_COMMAND, command], cwd=folder, env=_environment() | variables, capture_output=True, text=True, check=False
    )
    wall_seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return Cost(wall_seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def report(name: str, costs: list[Cost]) -> None:
    """Print one row: medians of wall and CPU, and the least wall."""
    wall, cpu = ([cost[index] for cost in costs] for index in (0, 1))
    print(
        f"{name:44} wall {statistics.median(wall):6.2f} s (least {min(wall):.2f}), CPU {statistics.median(cpu):6.2f} s",
        flush=True,
    )


def measure(name: str, repeats: int, command: Callable[[int], Cost]) -> None:
    """Measure a command several times, after a first run that warms the machine's caches."""
    command(repeats)
    report(name, [command(number) for number in range(repeats)])


def measure_help(folder: Path, repeats: int) -> None:
    """Measure the list of commands, and the options of the command that has the most."""
    for arguments in (["--help"], ["evaluate", "--help"]):
        measure(" ".join(arguments), repeats, lambda _number, given=arguments: call(*given, folder=folder))


def measure_cached(folder: Path, repeats: int) -> None:
    """Measure a run with as many samples as a full run; the renamed starter tasks give few distinct executions."""
    starter = [json.loads(line) for line in shipped("data/starter/tasks.jsonl").read_text().splitlines()]
    tasks = [starter[number % len(starter)] | {"task_id": f"Copy/{number}"} for number in range(_SAMPLES)]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    run = ("evaluate", "--samples", "oracle", "--dataset", "tasks.jsonl", "--environment", "starter", "--out", "out")
    measure(f"evaluate, {_SAMPLES:,} samples, all cached", repeats, lambda _number: call(*run, folder=folder))


def measure_small(folder: Path, repeats: int) -> None:
    """Measure ten tasks in an empty store: ground truths, samples, and the checks of those that pass."""

    def command(number: int) -> Cost:
        place = ("--store", f"store{number}", "--out", f"out{number}")
        return call(*_SMALL, *place, folder=folder)

    measure("evaluate, 10 starter tasks", repeats, command)


def measure_many(folder: Path, _repeats: int) -> None:
    """Measure distinct samples of the starter set, without checks of passes: CPU time beyond that of their tests."""
    starter = [json.loads(line) for line in shipped("data/starter/tasks.jsonl").read_text().splitlines()]
    for count in (_SAMPLES, 10 * _SAMPLES):
        with (folder / "samples.jsonl").open("w") as file:
            for number in range(count):
                task = starter[number % len(starter)]
                program = f"{task['complete_prompt']}{task['canonical_solution']}\n# {number}\n"
                file.write(json.dumps({"task_id": task["task_id"], "solution": program}) + "\n")
        run = ("evaluate", "--samples", "samples.jsonl", "--dataset", "starter", "--set", "execution.integrity=off")
        cost = call(*run, "--store", f"store{count}", "--out", "out", folder=folder)
        verdicts = pq.read_table(folder / "out" / "verdicts.parquet", columns=["test_cpu_seconds"])
        beyond_seconds = cost.cpu_seconds - sum(filter(None, verdicts["test_cpu_seconds"].to_pylist()))
        report(f"evaluate, {count:,} samples", [cost])
        print(f"    CPU beyond the test: {1000 * beyond_seconds / count:.1f} ms a sample", flush=True)


def measure_prefect(folder: Path, repeats: int) -> None:
    """Measure a run of the starter set whose stages are all in the store, under a running server and without one."""
    service("up", folder=folder)
    try:
        for options in ([], ["--no-prefect"]):
            name = " ".join(["run starter", *options])
            measure(f"{name}, all cached", repeats, lambda _number, given=options: call("run", *given, folder=folder))
    finally:
        service("down", folder=folder)


def measure_up(folder: Path, repeats: int) -> None:
    """Measure the start of the service: the first of a user, and one after `down`."""
    costs: dict[str, list[Cost]] = {"up, the first of a user": [], "up after down": []}
    for number in range(repeats):
        project = folder / f"project{number}"
        project.mkdir()
        for found in costs.values():
            found.append(_up(project, str(folder / f"cache{number}")))
            service("down", folder=project)
    for name, found in costs.items():
        report(name, found)


def _up(project: Path, cache: str) -> Cost:
    cost = service("up", folder=project, XDG_CACHE_HOME=cache)
    started = [psutil.Process(one.pid) for one in ServiceFolder(project / ".bigcodeflow").read().processes()]
    times = [process.cpu_times() for process in started]
    return cost._replace(cpu_seconds=cost.cpu_seconds + sum(one.user + one.system for one in times))


if __name__ == "__main__":
    main()
