"""Simulate the admission of many samples on a large machine in virtual time: cores, memory, and its own CPU time.

    python benchmarks/admission.py                                                 # 100,000 samples on 64 cores
    python benchmarks/admission.py --cores 2,16,64 --memory-gib 16 --loops 0.001

Drives the product's `Admission`, one for each worker process as in a run, with samples that take the wall time, CPU
time and memory of durations.csv, in the order of a run. Greenlets take the place of threads; of `Admission`, only the
clock and the events are replaced. Samples share the cores equally if they want more than there are, and their memory
grows evenly during the first half of their time. Sandboxes, workers and Dask cost nothing here but --cpu-ms.

"Of the ideal" divides the longest sample or CPU / cores, whichever is longer, by the simulated time. `Admission` has
one lock: its share is the part of the simulated time for which one worker process held it, with the CPU time measured
here and --memory-us for each look at the machine's memory. Prints a Markdown table.
"""

import argparse
import csv
import heapq
import itertools
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import patch

from greenlet import getcurrent, greenlet
from measuring import table

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.paths import shipped
from bigcodeflow.execution import cluster
from bigcodeflow.execution.costs import LONG_SECONDS
from bigcodeflow.judge.host import admission
from bigcodeflow.judge.items import scaled_limit

_FIRST_CHECK_SECONDS, _CHECK_SECONDS = 0.05, 0.25  # between the reports of judge/host/observation.py
_LOOP_SECONDS = 240.0
_SEED = 17
_HEAD = (
    "cores, memory",
    "simulated, s",
    "of the ideal",
    "cores in use",
    "most in flight",
    "most memory, GiB",
    "Admission: dispatches a sample",
    "µs each",
    "looks at memory a sample",
    "share",
)


class Sample(NamedTuple):
    """What one sample needs if it runs alone."""

    seconds: float
    cpu_seconds: float
    memory_mib: float
    long_after_seconds: float


class Clock:
    """Virtual time for greenlets, which sleep until a moment or until they are woken."""

    def __init__(self) -> None:
        self.now, self._hub = 0.0, getcurrent()
        self._queue: list[tuple[float, int, list[greenlet]]] = []
        self._numbers = itertools.count()

    def start(self, function: Callable[[], None]) -> None:
        self.wake(greenlet(function, self._hub), 0.0)

    def wake(self, sleeper: greenlet, seconds: float) -> list[greenlet]:
        """Continue a greenlet after some time; who empties the returned list prevents it."""
        entry = [sleeper]
        heapq.heappush(self._queue, (self.now + seconds, next(self._numbers), entry))
        return entry

    def leave(self) -> None:
        """Return when something wakes the calling greenlet."""
        self._hub.switch()

    def sleep(self, seconds: float) -> None:
        self.wake(getcurrent(), seconds)
        self.leave()

    def run(self) -> None:
        """Let time pass until no greenlet waits for a moment."""
        while self._queue:
            at, _, entry = heapq.heappop(self._queue)
            if entry:
                self.now = at
                entry.pop().switch()


class Event:
    """`threading.Event` for the greenlets of a clock, of which one waits at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._is_set, self._entry = clock, False, list[greenlet]()

    def set(self) -> None:
        self._is_set = True
        if self._entry:
            self._clock.wake(self._entry.pop(), 0.0)

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float) -> bool:
        if not self._is_set:
            self._entry = self._clock.wake(getcurrent(), timeout)
            self._clock.leave()
        return self._is_set


class TimedAdmission(admission.Admission):
    """`Admission` that counts its dispatches, and measures the CPU time of what happens under its lock."""

    dispatches, cpu_seconds = 0, 0.0

    def _dispatch(self) -> None:
        began = time.thread_time()
        super()._dispatch()
        self.dispatches, self.cpu_seconds = self.dispatches + 1, self.cpu_seconds + time.thread_time() - began


class Machine:
    """A machine with its worker processes, and what samples use of it."""

    def __init__(self, clock: Clock, samples: list[Sample], cores: int, memory_mib: float) -> None:
        self.clock, self.cores, self.memory_mib = clock, cores, memory_mib
        self._samples = iter(samples)
        self._demand = self._used_mib = self._busy_seconds = 0.0
        self._running = self.most_running = self.looks = 0
        self.most_mib = 0.0
        processes, config = math.ceil(cores / cluster.CORES_PER_PROCESS), ExecutionConfig()
        each = math.ceil(cores / processes)
        shared = (each, self._leave_slot, self._memory, 1 / processes)
        self.admissions = [TimedAdmission(*shared) for _ in range(processes)]
        self._left: set[greenlet] = set()
        self._slots: dict[greenlet, TimedAdmission] = {}
        for _, one in itertools.product(range(each * config.slots_per_worker), self.admissions):
            self.clock.start(lambda one=one: self._serve(one))  # type: ignore[misc]

    def _memory(self) -> tuple[float, float]:
        self.looks += 1
        return self.memory_mib - self._used_mib, self.memory_mib

    def _serve(self, one: TimedAdmission) -> None:
        """Execute samples as one thread of a worker, until it has left its slot to another thread."""
        me = getcurrent()
        self._slots[me] = one
        for sample in self._samples:
            self._execute(sample, one)
            if me in self._left:
                self._left.remove(me)
                break
        del self._slots[me]

    def _leave_slot(self) -> None:
        me = getcurrent()
        if me not in self._left:
            self._left.add(me)
            one = self._slots[me]
            self.clock.start(lambda: self._serve(one))

    def _execute(self, sample: Sample, one: TimedAdmission) -> None:
        demand = sample.cpu_seconds / sample.seconds
        with one.admitted(sample.memory_mib, sample.seconds - sample.cpu_seconds) as turn:
            done, used_mib, pause = 0.0, 0.0, _FIRST_CHECK_SECONDS
            self._count(1, demand)
            while done < sample.seconds:
                speed = min(1.0, self.cores / max(self._demand, 1e-9))
                step = min(pause, (sample.seconds - done) / speed)
                self.clock.sleep(step)
                done, pause = done + step * speed, _CHECK_SECONDS
                grown = min(1.0, 2 * done / sample.seconds) * sample.memory_mib - used_mib
                used_mib, self._used_mib = used_mib + grown, self._used_mib + grown
                self.most_mib = max(self.most_mib, self._used_mib)
                is_long = done * demand > sample.long_after_seconds
                if done < sample.seconds - 1e-9 and turn.used(demand, used_mib, is_long=is_long):
                    self._count(-1, -demand)
                    turn.wait()
                    self._count(1, demand)
            self._count(-1, -demand)
            self._used_mib -= used_mib

    def _count(self, number: int, demand: float) -> None:
        self._running, self._demand = self._running + number, self._demand + demand
        self.most_running = max(self.most_running, self._running)


def samples_of(count: int, *, cpu_ms: float, loops: float) -> list[Sample]:
    """Return samples in the order of a run: the tasks of durations.csv again and again, a share of them endless."""
    chance = random.Random(_SEED)
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def drawn() -> Iterator[Sample]:
        for row in itertools.islice(itertools.cycle(rows), count):
            wall, cpu, mib = (float(row[name]) for name in ("wall_seconds", "cpu_seconds", "max_rss_mib"))
            if chance.random() < loops:
                yield Sample(_LOOP_SECONDS, _LOOP_SECONDS, mib, scaled_limit(cpu))
            else:
                yield Sample(max(wall, 0.01) + cpu_ms / 1000, cpu + cpu_ms / 1000, mib, scaled_limit(cpu))

    def place(sample: Sample) -> tuple[bool, float]:
        is_first = LONG_SECONDS <= sample.seconds < _LOOP_SECONDS  # that a sample is endless is not known before
        return not is_first, -sample.seconds if is_first else chance.random()

    return sorted(drawn(), key=place)


def simulated(samples: list[Sample], cores: int, memory_gib: float, memory_us: float) -> list[str]:
    """Let a machine execute the samples; return the cells of its row."""
    clock = Clock()
    events = SimpleNamespace(Lock=threading.Lock, Event=lambda: Event(clock))
    with patch.multiple(admission, threading=events, time=SimpleNamespace(monotonic=lambda: clock.now)):
        machine = Machine(clock, samples, cores, 1024 * memory_gib)
        clock.run()
    cpu_seconds, now = sum(sample.cpu_seconds for sample in samples), clock.now
    ideal = max(cpu_seconds / cores, *(sample.seconds for sample in samples))
    dispatches = sum(one.dispatches for one in machine.admissions)
    own_seconds = sum(one.cpu_seconds for one in machine.admissions)
    held = (own_seconds + machine.looks * memory_us / 1e6) / len(machine.admissions) / now
    return [
        f"{cores}, {memory_gib:g} GiB",
        f"{now:.0f}",
        f"{100 * ideal / now:.0f} %",
        f"{cpu_seconds / now:.1f}",
        f"{machine.most_running}",
        f"{machine.most_mib / 1024:.1f}",
        f"{dispatches / len(samples):.1f}",
        f"{1e6 * own_seconds / dispatches:.0f}",
        f"{machine.looks / len(samples):.1f}",
        f"{100 * held:.1f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000, help="samples")
    parser.add_argument("--cores", default="64", help="numbers of cores, separated by commas")
    parser.add_argument("--memory-gib", default="256,32,16", help="memory of the machine, separated by commas")
    parser.add_argument("--cpu-ms", type=float, default=25.0, help="CPU time of each sample beyond its task's")
    parser.add_argument("--memory-us", type=float, default=0.0, help="of a look at the memory; 0: as measured here")
    parser.add_argument("--loops", type=float, default=0.0, help="share of the samples that compute for 240 s")
    arguments = parser.parse_args()
    samples = samples_of(arguments.items, cpu_ms=arguments.cpu_ms, loops=arguments.loops)
    memory_us = arguments.memory_us or _look_us()
    sizes = itertools.product(map(int, arguments.cores.split(",")), map(float, arguments.memory_gib.split(",")))
    rows = [simulated(samples, cores, gib, memory_us) for cores, gib in sizes]
    print(f"{arguments.items:,} samples; a look at the memory takes {memory_us:.0f} µs\n\n{table(_HEAD, rows)}")


def _look_us(times: int = 200) -> float:
    began = time.thread_time()
    for _ in range(times):
        admission.machine_memory_mib()
    return 1e6 * (time.thread_time() - began) / times


if __name__ == "__main__":
    main()
