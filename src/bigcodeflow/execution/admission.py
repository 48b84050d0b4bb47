"""Lets samples start when there is a core and memory for them, judged by what those that run are really using.

A worker has more slots than cores: a test that sleeps then holds a slot and no core, while one that computes in four
processes holds four. Memory that a sample is expected to need is kept free for it until it has taken it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bigcodeflow.execution.backends.base import OnUsage

#: Samples that may start beyond the cores: while one is being set up or ended, another computes.
_SURPLUS_CORES = 0.5
#: Part of the machine's memory that is never promised to a sample.
_RESERVE = 0.06
_POLL_SECONDS = 0.5
#: Bound, use and statistics of the group that a container sees as the root: versions 2 and 1 of control groups.
_BOUNDS = (
    tuple(f"/sys/fs/cgroup/memory.{name}" for name in ("max", "current", "stat")),
    tuple(f"/sys/fs/cgroup/memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")),
)


class Admission:
    """The gate of one worker; used by all its threads."""

    def __init__(self, cores: float) -> None:
        """Open the gate."""
        self._cores = cores
        self._running: dict[object, tuple[float, float]] = {}  # cores in use, and memory promised and not taken yet
        self._changed = threading.Condition()

    @contextmanager
    def admitted(self, expected_memory_mib: float) -> Iterator[OnUsage]:
        """Wait for room and hold it; what is yielded is to be called with what the sample uses."""
        mine = object()
        with self._changed:
            while not self._has_room(expected_memory_mib):
                self._changed.wait(_POLL_SECONDS)  # other programs free memory without telling us
            self._running[mine] = 1.0, expected_memory_mib

        def on_usage(cores: float, memory_mib: float) -> None:
            with self._changed:
                if mine in self._running:
                    self._running[mine] = cores, max(0.0, expected_memory_mib - memory_mib)
                self._changed.notify_all()

        try:
            yield on_usage
        finally:
            with self._changed:
                del self._running[mine]
                self._changed.notify_all()

    def _has_room(self, expected_memory_mib: float) -> bool:
        if not self._running:
            return True  # whatever it needs, waiting would not help
        cores, owed_mib = map(sum, zip(*self._running.values(), strict=True))
        if cores + 1.0 > self._cores + _SURPLUS_CORES:
            return False
        free_mib, total_mib = machine_memory_mib()
        return free_mib - owed_mib - expected_memory_mib > _RESERVE * total_mib


def machine_memory_mib() -> tuple[float, float]:
    """Memory that can be had without swapping, and all memory, in MiB; in a container that of the container."""
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    free, total = (int(lines[name].split()[0]) / 1024 for name in ("MemAvailable", "MemTotal"))
    for files in _BOUNDS:
        with suppress(OSError, ValueError):  # there is no such file outside of groups, and 'max' is no bound
            bound, used = (int(Path(name).read_text()) / 2**20 for name in files[:2])
            counts = dict(line.split() for line in Path(files[2]).read_text().splitlines())
            cached = int(counts.get("total_inactive_file", counts["inactive_file"])) / 2**20  # given back when needed
            free, total = min(free, bound - used + cached), min(total, bound)
    return free, total
