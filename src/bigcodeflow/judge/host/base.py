"""Interface of every backend: a check of its isolation, and the execution of work items."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from bigcodeflow.judge.items import WorkItem

#: Prefix of an outcome's ``exit`` if no sandbox could be started for the item.
NOT_STARTED = "not started: "
#: Prefix of ``exit`` for an item with ``from_memory`` if each of its executions read files from the disk.
READ_FROM_DISK = f"{NOT_STARTED}read files from the disk"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Isolation that a backend guarantees on this machine, and whether samples start warm or cold."""

    isolated: bool
    layers: tuple[str, ...]
    """Names of the active defences, such as 'network namespace'."""
    warm: bool = False
    """True if samples can be forked from processes with their libraries imported."""
    open_channels: tuple[str, ...] = ()
    """Names of channels through which samples on this machine could still pass messages to each other."""


@dataclass(slots=True)
class Outcome:
    """Observations of one execution, from which ``judge.verdicts`` makes the verdict."""

    frames: list[dict[str, Any]] = field(default_factory=list)
    """Frames of the harness, in order, each with a valid nonce and number."""
    violations: list[str] = field(default_factory=list)
    """Breaches of the report protocol."""
    killed_for: str = ""
    """Reason why the executor killed the sample: 'wall time', 'cpu time', 'memory', 'report' (protocol violated) or
    'tests' (enough tests were reported); empty if the sample ended by itself."""
    exit: str = ""
    """'exit N' after an exit of the program, 'signal N' if the sandbox itself was killed, or NOT_STARTED + reason."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    max_rss_mib: float = 0.0
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    backend: str = ""
    """Name of the backend that executed the item; empty if it is the requested backend."""
    environment_sha: str = ""
    """Sha of the environment of ``backend``; empty if ``backend`` is empty."""

    @property
    def not_started(self) -> bool:
        """True if no sandbox could be started for the item, so that nothing is known about the program."""
        return self.exit.startswith(NOT_STARTED)


class Turn:
    """Handle of a running sample: `used` reports usage, `wait` blocks during a pause. This base class never pauses."""

    def used(self, cores: float, memory_mib: float, *, is_long: bool) -> bool:
        """Report a sample's usage, a few times a second; return True if the sample must pause for other samples.

        Args:
            cores: average number of cores that the sample's threads used or waited for since the last report.
            memory_mib: resident memory of the sample.
            is_long: True if the sample has used more CPU time than expected of a program that solves the task.
        """
        del cores, memory_mib, is_long
        return False

    def wait(self) -> None:
        """Block until the stopped sample may continue."""


class UnderWay:
    """Base class of backends that record their running executions; several threads may use an object at once."""

    def __init__(self) -> None:
        self._began: dict[tuple[str, int], float] = {}

    @contextmanager
    def noted(self, item: WorkItem) -> Iterator[None]:
        """Record the item as running while the ``with`` block runs; each thread executes one item at a time."""
        mine = (item.verdict_key, threading.get_ident())
        self._began[mine] = time.monotonic()
        try:
            yield
        finally:
            del self._began[mine]

    def under_way(self) -> dict[str, float]:
        """Return verdict key → seconds since the running execution began, or was sent to a remote host."""
        now = time.monotonic()
        return {key: now - began for (key, _), began in self._began.copy().items()}


class Backend(Protocol):
    """Executor of work items; several threads may use a backend at once."""

    name: str

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Test, before the first item, which isolation the backend has on this machine, and return the result.

        Raises:
            SandboxUnavailableError: isolation is not available, and running without it is not allowed.
        """

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Return the items, with ``preload`` and ``zygote`` set if the backend imports modules before a start."""

    def execute(self, item: WorkItem) -> Outcome:
        """Run an item until it ends or exceeds a limit. Errors of its program are in the outcome, never raised."""

    def under_way(self) -> Mapping[str, float]:
        """Return verdict key → seconds since the running execution began; items that still wait are left out."""

    def close(self) -> None:
        """Release the resources that the backend keeps between items."""
