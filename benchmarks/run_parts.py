"""Print where the time of a small run goes, part by part: ten starter tasks in an empty store.

    python benchmarks/run_parts.py [--repeats 3] [COMMAND …]

COMMAND replaces `evaluate --samples oracle --dataset starter --ids 0-9`. A row is an import or a function in the run's
own process: seconds from the start of the process to its first call, wall seconds of all calls, and CPU seconds of the
threads that called it; medians of the repeats. Parts run inside and beside each other, so they do not add up.
"""

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

from benchmarks.startup import SMALL, call_alone

#: Run by the measured process before the command; `_PARTS` precedes it. Functions are wrapped once their module is
#: imported; a part that calls itself counts once.
_TRACE = """
import atexit, functools, importlib.abc, json, os, sys, threading, time
born = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
rows, inside = {}, threading.local()
def timed(function, name):
    @functools.wraps(function)
    def call(*arguments, **named):
        if name in vars(inside):
            return function(*arguments, **named)
        setattr(inside, name, True)
        row = rows.setdefault(name, [time.clock_gettime(time.CLOCK_BOOTTIME) - born, 0.0, 0.0])
        wall, cpu = time.monotonic(), time.thread_time()
        try:
            return function(*arguments, **named)
        finally:
            delattr(inside, name)
            row[1] += time.monotonic() - wall
            row[2] += time.thread_time() - cpu
    return call
def wrap(module):
    for path in parts[module.__name__]:
        *owners, last = path.split(".")
        owner = functools.reduce(getattr, owners, module)
        found = vars(owner)[last]
        call = timed(getattr(owner, last), f"{module.__name__}.{path}")
        setattr(owner, last, staticmethod(call) if isinstance(found, classmethod) else call)
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in parts:
            found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
            spec = next(filter(None, found))
            load = timed(spec.loader.exec_module, f"import {name}")
            spec.loader.exec_module = lambda module: (load(module), wrap(module))
            return spec
def write():
    with open(os.environ["RUN_PARTS"], "w") as file:
        json.dump(rows | {"end of the program": [time.clock_gettime(time.CLOCK_BOOTTIME) - born, 0.0, 0.0]}, file)
atexit.register(write)
sys.meta_path.insert(0, Finder())
import bigcodeflow.cli.main
timed(bigcodeflow.cli.main.main, "main")()
"""
_PARTS = {
    "bigcodeflow.cli.run": ("_run", "_show_results"),
    "bigcodeflow.recording": ("begin_run", "record_run"),
    "bigcodeflow.datasets": ("load_tasks",),
    "bigcodeflow.execution.cluster": ("_local", "Cluster._connected", "Cluster.close"),
    "bigcodeflow.execution.evaluation": ("judge",),
    "bigcodeflow.execution.planning": (),
    "bigcodeflow.execution.workers": ("Workers._prepared", "_adapted"),
    "bigcodeflow.results.aggregation": ("aggregate",),
    "bigcodeflow.results.catalog.building": ("rebuild_catalog",),
    "bigcodeflow.report.writer": ("write_report",),
    "bigcodeflow.sanitizing.samples": ("sanitize_samples",),
    "bigcodeflow.store.store": ("Store.publish",),
    "cryptography": (),
    "distributed": (),
    "duckdb": (),
    "jinja2": (),
    "pyarrow": (),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = tuple(options.command) or SMALL
    program = f"parts = {json.dumps(_PARTS)}\n{_TRACE}"
    runs, costs = [], []
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.repeats + 1):  # the first warms the machine's caches
            folder = Path(name) / str(number)
            folder.mkdir()
            costs.append(call_alone(*command, folder=folder, program=program, RUN_PARTS=str(folder / "parts.json")))
            runs.append(json.loads((folder / "parts.json").read_text()))
    wall, cpu = (statistics.median(cost[index] for cost in costs[1:]) for index in (0, 1))
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores; wall {wall:.2f} s, CPU {cpu:.2f} s")
    print(f"{'part':64} {'begins':>7} {'wall':>6} {'CPU':>6}")
    medians = {
        part: [statistics.median(run[part][index] for run in runs[1:]) for index in range(3)] for part in runs[-1]
    }
    for part, (begins, wall, cpu) in sorted(medians.items(), key=lambda one: one[1]):
        print(f"{part:64} {begins:7.2f} {wall:6.2f} {cpu:6.2f}")


if __name__ == "__main__":
    main()
