"""Executes for others in this machine's sandboxes; what stands behind a container's host, the service and the space."""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.admission import Admission
from bigcodeflow.execution.backends.base import Backend, Capabilities, Outcome
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.worker_preflight import code_version
from bigcodeflow.execution.zygote_plan import SURVEY_LIMITS, starts_of

#: Kinds of work, as limits and start make them, that are kept ready at the same time.
_MOST_KINDS = 4


class Kind(NamedTuple):
    """How items are to run."""

    limits: LimitsConfig
    start: Start = "warm"


class Workshop:
    """Runs items as many at once as there is room for; used by several threads at once."""

    def __init__(
        self, environment: InstalledEnvironment, *, cores: int = 0, slots_per_core: int = 8, isolated: bool = True
    ) -> None:
        """Nothing is started before the first item.

        Args:
            environment: where items run.
            cores: cores that items may keep busy; 0 takes all that this process has.
            slots_per_core: items in flight for each, so that sleeping tests do not hold a core.
            isolated: false runs items as bare processes: for places that are nothing but one big sandbox.
        """
        self.environment, self._isolated = environment, isolated
        self.cores = cores or len(os.sched_getaffinity(0))
        self.slots = self.cores * slots_per_core
        self._admission = Admission(self.cores)
        self._pool = ThreadPoolExecutor(self.slots, "workshop")
        self._kept: dict[Kind, Backend] = {}
        self._users: dict[Kind, int] = {}
        self._lock = threading.Lock()
        self._preparing = threading.Lock()

    def check(self, kind: Kind) -> Capabilities:
        """Start one empty sandbox and say which layers hold.

        Raises:
            SandboxUnavailableError: none can be had here.
        """
        with closing(self._made(kind)) as backend:
            return backend.check(allow_unisolated=not self._isolated)

    def described(self, capabilities: Capabilities) -> dict[str, Any]:
        """What a client has to know of this place; names and numbers only."""
        own = self.environment
        return {
            "code_version": code_version(),
            "environment": {
                "name": own.name,
                "environment_sha": own.environment_sha,
                "missing_data": list(own.missing_data),
                "lock_sha256": own.lock_sha256,
            },
            "capabilities": {
                "isolated": capabilities.isolated,
                "layers": list(capabilities.layers),
                "warm": capabilities.warm,
            },
            "cores": self.cores,
            "slots": self.slots,
        }

    def prepare(self, texts: Sequence[tuple[str, str]]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """For each program with its test the modules to preload, and those of the zygote that it is forked from."""
        with self._preparing:  # imports that nobody measured yet are measured once
            if not self._isolated:
                return [((), ()) for _ in texts]
            return starts_of(texts, self.environment, LocalBackend(self.environment, SURVEY_LIMITS))

    def submit(self, item: WorkItem, kind: Kind) -> "Future[Outcome]":
        """Have an item executed; cancelling what has not begun takes it back."""
        return self._pool.submit(self._run, item, kind)

    def close(self) -> None:
        """End everything, what is running included."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for backend in kept:
            backend.close()

    def _run(self, item: WorkItem, kind: Kind) -> Outcome:
        backend = self._taken(kind)
        try:
            return backend.execute(item)
        finally:
            with self._lock:
                self._users[kind] -= 1

    def _taken(self, kind: Kind) -> Backend:
        with self._lock:
            backend = self._kept.pop(kind, None) or self._made(kind)
            self._kept[kind] = backend  # the one used last stands last
            self._users[kind] = self._users.get(kind, 0) + 1
            idle = [one for one in self._kept if not self._users.get(one)]
            ended = [self._kept.pop(one) for one in idle[: max(0, len(self._kept) - _MOST_KINDS)]]
        for one in ended:
            one.close()
        return backend

    def _made(self, kind: Kind) -> Backend:
        warm = self._isolated and kind.start == "warm"
        return LocalBackend(
            self.environment, kind.limits, isolated=self._isolated, warm=warm, admission=self._admission
        )
