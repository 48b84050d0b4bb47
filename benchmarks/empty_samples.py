"""Measure the cost of a sample that does nothing: five empty tests, forked from zygotes with more and more libraries.

    python benchmarks/empty_samples.py [--environment bigcodebench] [--samples 200] [--threads 1]

Prints means over the samples, in milliseconds of CPU time. Sample: from its fork to its end, as the kernel counts it,
and the part of it that the harness counts as the tests'. Namespaces: the process that holds them. Kernel: the threads
that end network namespaces; their time is that of the whole machine, which must be idle otherwise.
"""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import find_environment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import verdict

_LIBRARIES: Sequence[tuple[str, ...]] = (
    (),
    ("numpy",),
    ("numpy", "pandas"),
    ("matplotlib.pyplot", "numpy", "pandas", "seaborn"),
    ("matplotlib.pyplot", "numpy", "pandas", "sklearn.linear_model"),
)
_TESTS = 5
_TEST = "import unittest\nclass TestCases(unittest.TestCase):\n" + "".join(
    f"    def test_{number}(self):\n        self.assertEqual(task_func({number}), {number})\n"
    for number in range(_TESTS)
)
_KERNEL_THREADS = 2  # process id of the parent of all kernel threads


class Parts(NamedTuple):
    """CPU seconds by the process that spent them, and wall time."""

    sample: float
    tests: float
    namespaces: float
    supervisor: float
    zygote: float
    worker: float
    kernel: float
    wall: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", default="bigcodebench")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1, help="samples at a time")
    arguments = parser.parse_args()
    columns = ("libraries", *Parts._fields, "CPU in all", "of one core, a second")
    print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}")
    with closing(LocalBackend(find_environment(arguments.environment), LimitsConfig(), warm=True)) as backend:
        backend.check()
        for libraries in _LIBRARIES:
            costs = measured(backend, libraries, arguments.samples, arguments.threads)
            cpu = sum(costs) - costs.tests - costs.wall
            cells = [f"{1e3 * seconds:.2f}" for seconds in (*costs, cpu)]
            print(f"| {' | '.join([', '.join(libraries) or 'none', *cells, f'{1 / cpu:.0f}'])} |", flush=True)


def measured(backend: LocalBackend, libraries: Sequence[str], samples: int, threads: int) -> Parts:
    """Execute the samples after a few that start their zygote; return the mean cost of each."""
    program = "".join(f"import {name}\n" for name in libraries) + "def task_func(x):\n    return x\n"
    names = tuple(f"test_{number}" for number in range(_TESTS))
    preload = tuple(libraries)
    item = WorkItem("", program, _TEST, names, 60.0, frozenset(), preload=preload, zygote=tuple(sorted(preload)))
    sandbox = backend.kept_warm()

    def execute(_number: int) -> tuple[float, float]:
        found = verdict(item, backend.execute(item), backend=backend.name, environment_sha="")
        if found["status"] != "pass":
            raise SystemExit(f"an empty sample did not pass: {found['status']}: {found['module_trace']}")
        return found["cpu_seconds"], found["test_cpu_seconds"]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(execute, range(2 * threads)))
        zygote = sandbox.zygotes[frozenset(preload)].pid
        supervisor = psutil.Process(sandbox.zygotes[frozenset()].pid).ppid()
        before, began = _others(supervisor, zygote), time.perf_counter()
        samples_cpu, tests_cpu = map(sum, zip(*pool.map(execute, range(samples)), strict=True))
        wall = time.perf_counter() - began
        others = [now - then for now, then in zip(_others(supervisor, zygote), before, strict=True)]
    return Parts(*(seconds / samples for seconds in (samples_cpu, tests_cpu, *others, wall)))


def _others(supervisor: int, zygote: int) -> tuple[float, ...]:
    """Return CPU seconds so far of the supervisor's ended children, supervisor, zygote, this process, and kernel."""
    ended = psutil.Process(supervisor).cpu_times()
    kernel = sum(_own_seconds(pid) for pid in psutil.pids() if _parent(pid) == _KERNEL_THREADS)
    waited_for = ended.children_user + ended.children_system
    return waited_for, _own_seconds(supervisor), _own_seconds(zygote), time.process_time(), kernel


def _own_seconds(pid: int) -> float:
    """Return CPU seconds of a process in nanosecond resolution, unlike /proc/PID/stat; counts the first thread only."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return 0.0


def _parent(pid: int) -> int:
    with suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return 0


if __name__ == "__main__":
    main()
