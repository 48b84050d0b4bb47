"""Executes items in this machine's sandboxes, for the host program and the HTTP service."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from typing import Any, NamedTuple

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backend_registry import OnLong
from bigcodeflow.execution.backends.base import Backend, Capabilities, Outcome
from bigcodeflow.execution.backends.local import MOST_IN_FLIGHT, Admission, LocalBackend
from bigcodeflow.execution.items import WorkItem, code_version
from bigcodeflow.execution.zygote_plan import SURVEY_LIMITS, starts_of

#: Backends of different limits and starts that are kept ready at the same time.
_MAX_BACKENDS = 4


class ExecutionMode(NamedTuple):
    """How items are to run."""

    limits: LimitsConfig
    start: Start = "warm"


class ExecutorPool:
    """Runs items in sandboxes; used by several threads at once.

    Who submits keeps to ``slots``: an item takes one until it ends, or is said to compute or sleep for long.
    """

    def __init__(self, environment: InstalledEnvironment, *, cores: int = 0, slots_per_core: int = 8) -> None:
        """Start nothing yet; 0 cores takes all, and several slots on each keep sleeping tests from holding it."""
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
        """Start one empty sandbox and say which layers hold, or raise SandboxUnavailableError."""
        with closing(self._make_backend(mode)) as backend:
            return backend.check()

    def description(self, capabilities: Capabilities) -> dict[str, Any]:
        """The fields of ``protocol.HostInfo``."""
        names = ("name", "environment_sha", "missing_data", "lock_sha256")
        return {
            "code_version": code_version(),
            "environment": {name: getattr(self.environment, name) for name in names},
            "capabilities": asdict(capabilities),
            "cores": self.cores,
            "slots": self.slots,
        }

    def prepare(self, texts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """For each program with its test how it starts, as ``protocol.PlannedStart`` has it."""
        with self._preparing:  # one at a time, so that no import is measured twice
            starts = starts_of(texts, self.environment, LocalBackend(self.environment, SURVEY_LIMITS))
        return [{"preload": preload, "zygote": zygote} for preload, zygote in starts]

    def submit(self, item: WorkItem, mode: ExecutionMode, on_long: OnLong | None = None) -> "Future[Outcome]":
        """Have an item executed; ``on_long`` is called, in another thread, once it leaves its slot.

        Cancelling what has not begun takes it back.
        """
        return self._threads.submit(self._execute, item, mode, on_long)

    def close(self) -> None:
        """End everything, what is running included."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            backends, self._backends = list(self._backends.values()), {}
        for backend in backends:
            backend.close()

    def _execute(self, item: WorkItem, mode: ExecutionMode, on_long: OnLong | None) -> Outcome:
        self._thread.on_long = on_long
        with self._lock:
            backend = self._backends.pop(mode, None) or self._make_backend(mode)
            self._backends[mode] = backend  # the one used last stands last
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
