"""What a sample costs that does nothing: five empty tests, forked warm beside libraries of growing size.

    python benchmarks/empty_samples.py [--environment bigcodebench] [--samples 60]

Prints medians over the samples: CPU time of the sample as the kernel counts it, from its fork to its end; the part that
the harness counts as the tests' own; wall time as the worker sees it, its namespaces included; CPU time of the worker.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

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


class Cost(NamedTuple):
    """Milliseconds of one sample."""

    cpu: float
    counted_as_tests: float
    wall: float
    worker_cpu: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", default="bigcodebench")
    parser.add_argument("--samples", type=int, default=60)
    arguments = parser.parse_args()
    columns = ("libraries", "CPU, ms", "counted as tests, ms", "wall, ms", "worker's CPU, ms")
    print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}")
    with closing(LocalBackend(find_environment(arguments.environment), LimitsConfig(), warm=True)) as backend:
        backend.check()
        for libraries in _LIBRARIES:
            costs = list(measured(backend, libraries, arguments.samples))
            medians = (f"{statistics.median(values):.1f}" for values in zip(*costs, strict=True))
            print(f"| {', '.join(libraries) or 'none'} | {' | '.join(medians)} |")


def measured(backend: LocalBackend, libraries: Sequence[str], samples: int) -> Iterator[Cost]:
    """What each of so many samples cost, after one that starts their zygote."""
    program = "".join(f"import {name}\n" for name in libraries) + "def task_func(x):\n    return x\n"
    names = tuple(f"test_{number}" for number in range(_TESTS))
    preload = tuple(libraries)
    item = WorkItem("", program, _TEST, names, 60.0, frozenset(), preload=preload, zygote=tuple(sorted(preload)))
    backend.execute(item)
    for _ in range(samples):
        wall, worker_cpu = time.perf_counter(), time.process_time()
        found = verdict(item, backend.execute(item), backend=backend.name, environment_sha="")
        wall, worker_cpu = time.perf_counter() - wall, time.process_time() - worker_cpu
        if found["status"] != "pass":
            raise SystemExit(f"an empty sample did not pass: {found['status']}: {found['module_trace']}")
        seconds = (found["cpu_seconds"], found["test_cpu_seconds"], wall, worker_cpu)
        yield Cost(*(1e3 * second for second in seconds))


if __name__ == "__main__":
    main()
