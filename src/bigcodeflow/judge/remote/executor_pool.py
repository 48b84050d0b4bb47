"""Execution of items in this machine's sandboxes, for the host program and the HTTP service."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from typing import Any, NamedTuple

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.judge.backend_registry import OnLong
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.admission import MOST_IN_FLIGHT, Admission
from bigcodeflow.judge.host.base import Backend, Capabilities, Outcome
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem, code_version
from bigcodeflow.judge.zygote_plan import SURVEY_LIMITS, ZygotePlanner

#: Most backends, of different limits and starts, that are kept ready at the same time.
_MAX_BACKENDS = 4


class ExecutionMode(NamedTuple):
    """Limits of items, and their kind of start (warm or cold)."""

    limits: LimitsConfig
    start: Start = "warm"


class ExecutorPool:
    """Pool that executes items in sandboxes; several threads may use it at the same time.

    A slot is the right to execute one item. Callers may use at most ``slots`` slots: an item uses a slot until it ends,
    or until ``on_long`` is called because the item takes long.
    """

    def __init__(self, environment: InstalledEnvironment, *, cores: int = 0, slots_per_core: int = 8) -> None:
        """Start nothing yet; ``cores`` 0 means all cores. With several slots per core, sleeping tests block no core."""
        self.environment = environment
        self.cores = cores or usable_cores()
        self.slots = self.cores * slots_per_core
        self._admission = Admission(self.cores, self._leave_slot)
        self._threads = ThreadPoolExecutor(max(self.slots, MOST_IN_FLIGHT), "execute")
        self._thread = threading.local()
        self._backends: dict[ExecutionMode, Backend] = {}
        self._users: Counter[ExecutionMode] = Counter()
        self._lock = threading.Lock()
        self._preparing = threading.Lock()

    def check(self, mode: ExecutionMode) -> Capabilities:
        """Start one empty sandbox and return the active layers of isolation, or raise SandboxUnavailableError."""
        with closing(self._make_backend(mode)) as backend:
            return backend.check()

    def description(self, capabilities: Capabilities) -> dict[str, Any]:
        """Return the fields of ``protocol.HostInfo``."""
        names = ("name", "environment_sha", "missing_data", "lock_sha256")
        return {
            "code_version": code_version(),
            "environment": {name: getattr(self.environment, name) for name in names},
            "capabilities": asdict(capabilities),
            "cores": self.cores,
            "slots": self.slots,
        }

    def prepare(self, texts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Return the planned start of each (program, test), with the fields of ``protocol.PlannedStart``."""
        with self._preparing:  # one at a time, so that no import is measured twice
            surveyor = LocalBackend(self.environment, SURVEY_LIMITS)
            starts = ZygotePlanner(self.environment, surveyor).starts_of(texts)
        return [{"preload": preload, "zygote": zygote} for preload, zygote in starts]

    def submit(self, item: WorkItem, mode: ExecutionMode, on_long: OnLong | None = None) -> "Future[Outcome]":
        """Submit an item for execution; ``on_long`` is called, in another thread, if a long item frees its slot early.

        Cancel the future to withdraw an item that has not begun.
        """
        return self._threads.submit(self._execute, item, mode, on_long)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            backends, self._backends = list(self._backends.values()), {}
        for backend in backends:
            backend.close()

    def _execute(self, item: WorkItem, mode: ExecutionMode, on_long: OnLong | None) -> Outcome:
        self._thread.on_long = on_long
        with self._lock:
            backend = self._backends.pop(mode, None) or self._make_backend(mode)
            self._backends[mode] = backend  # the most recently used backend comes last
            self._users[mode] += 1
            idle = [one for one in self._backends if not self._users[one]]
            ended = [self._backends.pop(one) for one in idle[: max(0, len(self._backends) - _MAX_BACKENDS)]]
        try:
            for one in ended:
                one.close()
            return backend.execute(item)
        finally:
            with self._lock:
                self._users[mode] -= 1

    def _leave_slot(self) -> None:
        if self._thread.on_long:
            self._thread.on_long()

    def _make_backend(self, mode: ExecutionMode) -> Backend:
        return LocalBackend(self.environment, mode.limits, warm=mode.start == "warm", admission=self._admission)
