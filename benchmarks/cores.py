"""Measure how the throughput of a run grows with execution.workers, and which process uses how much CPU time.

    python benchmarks/cores.py --data ../shared --out FOLDER               # 1, 2, 4, … up to this machine's cores
    python benchmarks/cores.py --sleeping 0.1 --cores 1,8,64 --items 4000  # samples that only sleep

The first command judges Qwen's answers to short tasks of BigCodeBench by `bigcodeflow evaluate`, without checks, with
the ground truths known. The second executes items on Dask as a run does, with a ledger, except that a sample sleeps for
so many seconds instead of starting a sandbox, and reports that it keeps a core busy: so a small machine shows what the
driver and the workers of a large one can carry. No number of cores carries more items per second than the driver, which
is one process with the scheduler in it: 1000 / (its CPU per item, ms).

Columns: CPU time per item of the driver, of all workers, of supervisors and zygotes, of program and tests, and the rest
(mostly ends of samples). The first three are read from running processes a few times a second, so that the last
fraction of a second is missing. Ideal: throughput with the fewest workers, times the workers.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
import pyarrow.parquet as pq
from evaluations import Unit, evaluated, prepared_store, sample_file, settings_of
from head_to_head import quick_tasks
from measuring import busy_seconds, table
from original import load_tasks

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.execution.engine import Engine
from bigcodeflow.execution.evaluation import plan_ground_truths
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.workers import Executor, Workers
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.host.admission import Admission
from bigcodeflow.judge.host.base import Backend, Capabilities, Outcome, UnderWay
from bigcodeflow.judge.items import WorkItem, numbered

_LOOK_SECONDS = 0.3
_KINDS = ("driver", "workers", "supervisors")
_HEAD = ("workers", "items", "wall, s", "items a minute", "of the ideal", "cores in use", "driver, ms", "workers, ms")
_HEAD += ("supervisors, ms", "tests, ms", "rest, ms", "others, CPU s")


class Result(NamedTuple):
    """Cost of one run, in seconds."""

    workers: int
    items: int
    wall: float
    cpu: float
    """CPU of all processes of the run."""
    parts: Mapping[str, float]
    """CPU by kind of process."""
    tests: float
    others: float


class Watch(threading.Thread):
    """Thread that reads the CPU time of this process's descendants during the block, by what they are."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ended = threading.Event()
        self._seconds: dict[int, tuple[str, float]] = {}

    def run(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error, OSError):
                    times = process.cpu_times()
                    self._seconds[process.pid] = (_kind_of(process), times.user + times.system)

    @property
    def parts(self) -> dict[str, float]:
        """CPU seconds by kind of process."""
        found: dict[str, float] = defaultdict(float)
        for kind, seconds in self._seconds.values():
            found[kind] += seconds
        return found

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def _kind_of(process: psutil.Process) -> str:
    command = " ".join(process.cmdline())
    if "multiprocessing." in command:
        return "workers"
    if "supervisor.py" not in command and "bwrap" not in command:
        return "driver"
    # A sample has a PID namespace more than the zygote from which it was forked.
    status = Path(f"/proc/{process.pid}/status").read_text()
    depth = next(len(line.split()) for line in status.splitlines() if line.startswith("NSpid"))
    return "samples" if depth > 4 else "supervisors"


def main() -> None:
    arguments = _arguments()
    measure = _slept if arguments.sleeping else _judged
    try:
        results = [measure(count, arguments) for count in arguments.cores]
    except BigCodeFlowError as error:
        sys.exit(f"{error}")
    print(report_of(results))


def report_of(results: Sequence[Result]) -> str:
    """Return one row for each run as Markdown."""
    base = results[0].items / results[0].wall / results[0].workers
    lines = []
    for one in results:
        rate = one.items / one.wall
        parts = [one.parts.get(kind, 0.0) for kind in _KINDS]
        rest = one.cpu - sum(parts) - one.tests
        each = [f"{1000 * seconds / one.items:.1f}" for seconds in (*parts, one.tests, rest)]
        shares = [f"{100 * rate / (base * one.workers):.0f} %", f"{one.cpu / one.wall:.2f}"]
        lines.append(
            [one.workers, one.items, f"{one.wall:.1f}", f"{60 * rate:.0f}", *shares, *each, f"{one.others:.1f}"]
        )
    return (
        f"{len(os.sched_getaffinity(0))} cores here; load {os.getloadavg()[0]:.1f} at the end\n\n{table(_HEAD, lines)}"
    )


def _judged(workers: int, arguments: argparse.Namespace) -> Result:
    """Judge recorded answers with so many workers."""
    tasks = quick_tasks(load_tasks(arguments.data), arguments.data, arguments.items)
    arguments.ids = ",".join(task["task_id"].rpartition("/")[2] for task in tasks)
    ids, copies = tuple(task["task_id"] for task in tasks), max(1, arguments.items // len(tasks))
    settings = settings_of("unchecked")
    unit = Unit("qwen", "unchecked", ids, "bigcodebench", workers, 240.0, settings=settings, copies=copies)
    arguments.out.mkdir(parents=True, exist_ok=True)
    store = arguments.out / "store"
    prepared = prepared_store(unit, arguments)
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(prepared, store)
    with Watch() as watch:
        done = evaluated(unit, sample_file(unit, tasks, arguments), store, arguments)
    tests = pq.read_table(arguments.out / "results/verdicts.parquet", columns=["test_cpu_seconds"])["test_cpu_seconds"]
    cost = (done.wall_seconds, done.cpu_seconds, watch.parts, sum(tests.to_pylist()), done.others_cpu_seconds)
    return Result(workers, len(tests), *cost)


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
        started.executor = SleepingExecutor(config, environment, seconds=arguments.sleeping)
        with Engine(config, environment, Path(folder), workers=started) as engine:
            engine.verdicts(items[:workers])  # the cluster starts
            time.sleep(2 * _LOOK_SECONDS)
            before, busy, own, began = watch.parts, busy_seconds(), time.process_time(), time.monotonic()
            found = engine.verdicts(items[workers:])
            wall, own, busy = time.monotonic() - began, time.process_time() - own, busy_seconds() - busy
            time.sleep(2 * _LOOK_SECONDS)
            parts = {"driver": own, "workers": watch.parts["workers"] - before["workers"]}
    if any(row["status"] != "pass" for row in found.values()):
        raise SystemExit("a sleeping sample did not pass")
    cpu = sum(parts.values())
    print(f"ledger: {_ledger_ms(list(found.values())):.2f} ms of a worker's CPU per item", file=sys.stderr)
    return Result(workers, len(found), wall, cpu, parts, 0.0, max(0.0, busy - cpu))


def _ledger_ms(rows: Sequence[dict[str, Any]]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        ledger, began = Ledger(Path(folder)), time.process_time()
        for row in rows:
            ledger.append(row)
        return 1000 * (time.process_time() - began) / len(rows)


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def _arguments() -> argparse.Namespace:
    here = len(os.sched_getaffinity(0))
    powers = sorted({here, *(2**power for power in range(here.bit_length()) if 2**power <= here)})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the reference data")
    parser.add_argument("--out", type=Path, help="folder for stores and results")
    parser.add_argument("--cores", type=_numbers, default=powers, help="numbers of workers, separated by commas")
    parser.add_argument("--items", type=int, default=1000, help="samples of each run")
    parser.add_argument("--sleeping", type=float, default=0.0, metavar="SECONDS", help="let samples sleep instead")
    arguments = parser.parse_args()
    if not arguments.sleeping and not (arguments.data and arguments.out):
        parser.error("--data and --out are needed, or --sleeping")
    return arguments


if __name__ == "__main__":
    main()
