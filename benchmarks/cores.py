"""Measure how many samples a second the driver and the workers of a large machine can carry, on a small one.

    python benchmarks/cores.py --cores 1,8,64 [--items 4000] [--seconds 0.1]

Executes items on Dask as a run does, with a ledger, except that a sample sleeps instead of starting a sandbox, and
reports that it keeps a core busy. `benchmarks/first_result.py --workers N` measures real samples on so many cores. No
number of cores carries more items per second than the driver, which is one process with the scheduler in it: 1000 /
(its CPU per item, ms).

Columns: CPU time per item of the driver, of all workers (read from running processes a few times a second) and of a
worker's ledger. Ideal: throughput with the fewest workers, times the workers.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
from measuring import busy_seconds, table

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.execution.engine import Engine
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.planning import plan_ground_truths
from bigcodeflow.execution.workers import Executor, Workers
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.host.admission import Admission
from bigcodeflow.judge.host.base import Backend, Capabilities, Outcome, UnderWay
from bigcodeflow.judge.items import WorkItem, numbered

_LOOK_SECONDS = 0.3
_HEAD = ("workers", "items", "wall, s", "items a second", "of the ideal", "driver, ms", "workers, ms", "ledger, ms")
_HEAD += ("others, CPU s",)


class Result(NamedTuple):
    """Cost of one run; CPU time in seconds."""

    workers: int
    items: int
    wall: float
    driver: float
    all_workers: float
    ledger: float
    others: float


class Watch(threading.Thread):
    """Thread that reads the CPU time of this process's Dask workers during the block."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ended = threading.Event()
        self._seconds: dict[int, float] = {}

    def run(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error, OSError):
                    if "multiprocessing." in " ".join(process.cmdline()):
                        times = process.cpu_times()
                        self._seconds[process.pid] = times.user + times.system

    @property
    def seconds(self) -> float:
        return sum(self._seconds.values())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def main() -> None:
    arguments = _arguments()
    try:
        results = [_slept(count, arguments) for count in arguments.cores]
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    print(report_of(results))


def report_of(results: Sequence[Result]) -> str:
    """Return one row for each run as Markdown."""
    base = results[0].items / results[0].wall / results[0].workers
    lines = []
    for one in results:
        rate = one.items / one.wall
        each = [f"{1000 * seconds / one.items:.1f}" for seconds in (one.driver, one.all_workers, one.ledger)]
        share = f"{100 * rate / (base * one.workers):.0f} %"
        lines.append([one.workers, one.items, f"{one.wall:.1f}", f"{rate:.0f}", share, *each, f"{one.others:.1f}"])
    return (
        f"{len(os.sched_getaffinity(0))} cores here; load {os.getloadavg()[0]:.1f} at the end\n\n{table(_HEAD, lines)}"
    )


@dataclass(frozen=True)
class SleepingExecutor(Executor):
    """Executor of samples that only sleep."""

    seconds: float = 0.1

    def backend(self, slots: int = 1) -> Backend:
        return SleepingBackend(self.seconds, Admission(max(1.0, slots / self.config.slots_per_worker)))


class SleepingBackend:
    """Backend whose samples sleep, report that they compute, and pass."""

    name = "local"

    def __init__(self, seconds: float, admission: Admission) -> None:
        self._seconds, self._admission, self._under_way = seconds, admission, UnderWay()

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        return Capabilities(isolated=not allow_unisolated, layers=(), warm=True)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        return items

    def execute(self, item: WorkItem) -> Outcome:
        with self._admission.admitted(item.expected_memory_mib) as turn, self._under_way.noted(item):
            until, pause = time.monotonic() + self._seconds, 0.05
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(left, pause))
                turn.used(1.0, item.expected_memory_mib, is_long=False)
                pause = 0.25
        tests = [{"event": "test", "name": name, "outcome": "pass", "seconds": 0.0} for name in item.expected_tests]
        loaded = {"event": "loaded", "tests": item.expected_tests}
        started, end = ({"event": name, "cpu_seconds": 0.0, "max_rss_mib": 1.0} for name in ("started", "end"))
        frames: list[dict[str, Any]] = [started, {"event": "imported"}, loaded, *tests, end]
        return Outcome(frames=frames, exit="exit 0", wall_seconds=self._seconds)

    def under_way(self) -> Mapping[str, float]:
        return self._under_way.under_way()

    def close(self) -> None: ...


def _slept(workers: int, arguments: argparse.Namespace) -> Result:
    """Execute sleeping items with so many workers."""
    config, environment = ExecutionConfig(workers=workers), find_environment("starter")
    source = DatasetConfig(source="starter")
    tasks = datasets.load_tasks(source, datasets.resolve(source))
    planned = [plan.item for plan in plan_ground_truths(tasks, config=config, environment=environment)]
    items = [
        replace(numbered(planned[number % len(planned)], number), expected_memory_mib=1.0)
        for number in range(arguments.items)
    ]
    with tempfile.TemporaryDirectory() as folder, Watch() as watch, Workers(config, environment) as started:
        started.executor = SleepingExecutor(config, environment, seconds=arguments.seconds)
        with Engine(config, environment, Path(folder), workers=started) as engine:
            engine.verdicts(items[:workers])  # the cluster starts
            time.sleep(2 * _LOOK_SECONDS)
            before, busy, own, began = watch.seconds, busy_seconds(), time.process_time(), time.monotonic()
            found = engine.verdicts(items[workers:])
            wall, own, busy = time.monotonic() - began, time.process_time() - own, busy_seconds() - busy
            time.sleep(2 * _LOOK_SECONDS)
            theirs = watch.seconds - before
    if any(row["status"] != "pass" for row in found.values()):
        raise SystemExit("a sleeping sample did not pass")
    ledger = _ledger_seconds(list(found.values()))
    return Result(workers, len(found), wall, own, theirs, ledger, max(0.0, busy - own - theirs))


def _ledger_seconds(rows: Sequence[dict[str, Any]]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        ledger, began = Ledger(Path(folder)), time.process_time()
        for row in rows:
            ledger.append(row)
        return time.process_time() - began


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=_numbers, default=[1, 8, 64], help="numbers of workers, separated by commas")
    parser.add_argument("--items", type=int, default=4000, help="samples of each run")
    parser.add_argument("--seconds", type=float, default=0.1, help="that a sample sleeps")
    return parser.parse_args()


if __name__ == "__main__":
    main()
