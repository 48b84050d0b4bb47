"""Admission of samples: a sample starts when a core and enough memory are free.

More samples than cores may run: a test that sleeps uses no core, while a test that computes in four processes uses four
cores. The expected memory of a sample is reserved until the sample has allocated it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from bigcodeflow.judge.host.base import Turn

#: Load allowed above the number of cores: while one sample starts or ends, another computes.
_SURPLUS_CORES = 0.5
#: Share of the machine's memory that is never reserved for samples.
_RESERVE = 0.06
_POLL_SECONDS = 0.5
#: Most samples that one worker process runs at once, including sleeping and paused samples: each holds descriptors.
MOST_IN_FLIGHT = 128
#: Seconds that a core must be free before a paused sample takes that core: the next item may arrive soon.
_IDLE_SECONDS = 0.5
_POLL_PAUSED_SECONDS = 0.1
#: Wall time after which a sample leaves its slot, so that its worker takes another item.
_SECONDS_IN_SLOT = 2.0
#: Files with memory limit, use and statistics of a container's root group: versions 2 and 1 of control groups.
_BOUNDS = (
    tuple(f"/sys/fs/cgroup/memory.{name}" for name in ("max", "current", "stat")),
    tuple(f"/sys/fs/cgroup/memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")),
)


class Admission:
    """Gate that starts a worker's samples when cores and memory are free; all threads of the worker share the gate.

    While other samples wait for a core, one long sample (such as an endless loop) runs and further long samples pause.
    On a single core, all long samples pause. One long sample runs so that they do not all remain for the end, when
    other cores would idle. If no sample waits, long samples may use all cores.
    """

    def __init__(
        self,
        cores: float,
        on_long: Callable[[], None] | None = None,
        memory: Callable[[], tuple[float, float]] | None = None,
        share: float = 1.0,
    ) -> None:
        """Make an admission that has no samples yet.

        Args:
            cores: number of cores that samples share.
            on_long: callback that lets the worker start another item meanwhile. It is called once for a sample, in its
                thread, if the sample takes over two seconds, is expected to sleep for over two seconds, or must pause.
            memory: function that returns free and total memory, in MiB; None: the memory of this machine.
            share: share of the free memory that this process may reserve; below 1 if other processes start samples too.
        """
        self._cores, self._on_long, self._memory, self._share = cores, on_long, memory or machine_memory_mib, share
        self._long_cores = 1 if cores >= 2 else 0  # noqa: PLR2004
        self._waiting: dict[_AdmittedTurn, None] = {}
        self._running: dict[_AdmittedTurn, None] = {}
        self._paused: dict[_AdmittedTurn, None] = {}
        self._idle_since: float | None = None
        self._lock = threading.Lock()

    @contextmanager
    def admitted(self, expected_memory_mib: float, idle_seconds: float = 0.0) -> Iterator[Turn]:
        """Wait until a core and the expected memory are free for a sample, and hold both during the ``with`` block.

        If ``idle_seconds``, the expected sleep of the sample, is over two, the sample starts before other samples
        (longest sleep first), and ``on_long`` is called for the sample at once, because sleeping uses no core.
        """
        turn = _AdmittedTurn(self, expected_memory_mib, idle_seconds if idle_seconds > _SECONDS_IN_SLOT else 0.0)
        if turn.idle_seconds:
            self._leave_slot(turn)
        with self._lock:
            self._waiting[turn] = None
            self._dispatch()
        while not turn.go.wait(_POLL_SECONDS):
            with self._lock:
                self._dispatch()  # other programs free memory without a notice
        try:
            yield turn
        finally:
            with self._lock:
                del self._running[turn]
                self._dispatch()

    def update(self, turn: "_AdmittedTurn", cores: float, memory_mib: float, *, is_long: bool) -> bool:
        """Record the cores and memory that the sample with handle ``turn`` uses; return True if it must pause."""
        with self._lock:
            turn.cores, turn.is_long = cores, is_long
            turn.owed_mib = max(0.0, turn.expected_mib - memory_mib)
            self._dispatch()
            surplus = self._long_running() > self._long_cores
            must_pause = is_long and surplus and bool(self._waiting) and not self._has_core()
        if must_pause or time.monotonic() - turn.began > _SECONDS_IN_SLOT:
            self._leave_slot(turn)
        return must_pause

    def _leave_slot(self, turn: "_AdmittedTurn") -> None:
        if self._on_long and not turn.left_slot:
            turn.left_slot = True
            self._on_long()

    def pause(self, turn: "_AdmittedTurn") -> None:
        """Release the core of the stopped sample with handle ``turn``, and block until it gets a core again."""
        turn.go.clear()
        with self._lock:
            del self._running[turn]
            self._paused[turn] = None
            self._dispatch()
        while not turn.go.wait(_POLL_PAUSED_SECONDS):
            with self._lock:
                self._dispatch()

    def _dispatch(self) -> None:
        """Start waiting samples on free cores, then paused samples; of several cores, reserve one for a long sample."""
        if self._paused and self._has_core() and self._long_running() < self._long_cores:
            self._start(self._paused)
        if self._waiting and self._has_core():
            self._start_waiting()
        # If waiting samples lack memory and nothing runs, only the end of a paused sample frees memory.
        is_idle = self._paused and self._has_core() and not (self._waiting and self._running)
        if not is_idle:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > _IDLE_SECONDS:
            self._start(self._paused)
            self._idle_since = None

    def _start_waiting(self) -> None:
        """Start the waiting samples for which memory is free, until no core is free; `admitted` explains the order."""
        free_mib, total_mib = self._memory()  # once for all: this call takes longer than everything else here
        owed_mib = sum(other.owed_mib for other in self._running)
        room_mib = self._share * (free_mib - _RESERVE * total_mib) - owed_mib
        for turn in sorted(self._waiting, key=lambda one: -one.idle_seconds):
            # If nothing else runs, waiting would not help, whatever the sample needs.
            if turn.expected_mib < room_mib or not (self._running or self._paused):
                self._start(self._waiting, turn)
                room_mib -= turn.expected_mib
                if not self._has_core():
                    return

    def _start(self, queue: "dict[_AdmittedTurn, None]", turn: "_AdmittedTurn | None" = None) -> None:
        turn = turn or next(iter(queue))
        del queue[turn]
        turn.cores = 1.0
        self._running[turn] = None
        turn.go.set()

    def _long_running(self) -> int:
        return sum(turn.is_long for turn in self._running)

    def _has_core(self) -> bool:
        cores = sum(turn.cores for turn in self._running)
        in_flight = len(self._running) + len(self._paused)
        is_full = in_flight >= MOST_IN_FLIGHT and bool(self._running)
        return not self._running or (cores + 1.0 <= self._cores + _SURPLUS_CORES and not is_full)


class _AdmittedTurn(Turn):
    def __init__(self, admission: Admission, expected_mib: float, idle_seconds: float) -> None:
        self._admission, self.began, self.idle_seconds = admission, time.monotonic(), idle_seconds
        self.expected_mib = self.owed_mib = expected_mib
        self.cores, self.is_long, self.left_slot = 1.0, False, False
        self.go = threading.Event()

    def used(self, cores: float, memory_mib: float, *, is_long: bool) -> bool:
        return self._admission.update(self, cores, memory_mib, is_long=is_long)

    def wait(self) -> None:
        self._admission.pause(self)


def machine_memory_mib() -> tuple[float, float]:
    """Return two sizes in MiB: memory available without swapping, and total memory; a container's limit bounds both."""
    machine = psutil.virtual_memory()
    free, total = machine.available / 2**20, machine.total / 2**20
    for files in _BOUNDS:
        with suppress(OSError, ValueError):  # no such file outside of groups, or 'max', which means no limit
            bound, used = (int(Path(name).read_text(encoding="utf-8")) / 2**20 for name in files[:2])
            counts = dict(line.split() for line in Path(files[2]).read_text(encoding="utf-8").splitlines())
            cached = int(counts.get("total_inactive_file", counts["inactive_file"])) / 2**20  # given back when needed
            free, total = min(free, bound - used + cached), min(total, bound)
    return free, total
