"""Interface of every backend: a check of itself, and the execution of one work item."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from bigcodeflow.judge.items import WorkItem

#: Prefix of an outcome's ``exit`` if no sandbox could be started for the item.
NOT_STARTED = "not started: "
#: The same for an item with ``from_memory`` if each of its executions read files from the disk.
READ_FROM_DISK = f"{NOT_STARTED}read files from the disk"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Guarantees of a backend on this machine."""

    isolated: bool
    layers: tuple[str, ...]
    """Names of the active defences, such as 'network namespace'."""
    warm: bool = False
    """True if samples can be forked from processes with their libraries imported."""
    open_channels: tuple[str, ...] = ()
    """Names of the ways by which samples on this machine could still pass messages to each other."""


@dataclass(slots=True)
class Outcome:
    """All observations of one execution; ``judge.verdicts`` judges what they mean."""

    frames: list[dict[str, Any]] = field(default_factory=list)
    """Frames of the harness, in order, each with a valid nonce and number."""
    violations: list[str] = field(default_factory=list)
    """Breaches of the report protocol."""
    killed_for: str = ""
    """Reason why the executor ended it: wall time, cpu time, memory, report or tests (enough tests were seen); empty if
    it ended by itself."""
    exit: str = ""
    """'exit N' of the program, 'signal N' if the sandbox itself was killed, or NOT_STARTED and the reason."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    max_rss_mib: float = 0.0
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    backend: str = ""
    """Name of the backend that executed it, if that is not the requested backend."""
    environment_sha: str = ""
    """Sha of that backend's environment; empty like ``backend``."""

    @property
    def not_started(self) -> bool:
        """True if no sandbox could be started for it, so that nothing is known about the program."""
        return self.exit.startswith(NOT_STARTED)


class Turn:
    """Lets a sample's observer report usage and wait while other samples go first; this base class never waits."""

    def used(self, cores: float, memory_mib: float, *, is_long: bool) -> bool:
        """Report a sample's usage, a few times a second; return True if it must pause so that others go first.

        Args:
            cores: cores that it would use if they were free.
            memory_mib: its resident memory.
            is_long: True if it has used more CPU time than expected of a program that solves the task.
        """
        del cores, memory_mib, is_long
        return False

    def wait(self) -> None:
        """Block until the stopped sample may continue."""


class UnderWay:
    """Base of backends that note their running executions; used by several threads at once."""

    def __init__(self) -> None:
        self._began: dict[tuple[str, int], float] = {}

    @contextmanager
    def noted(self, item: WorkItem) -> Iterator[None]:
        """Record the item as running during the block; a thread executes one item at a time."""
        mine = (item.verdict_key, threading.get_ident())
        self._began[mine] = time.monotonic()
        try:
            yield
        finally:
            del self._began[mine]

    def under_way(self) -> dict[str, float]:
        """Return the seconds since each execution began, by verdict key; of a remote item, since it was sent."""
        now = time.monotonic()
        return {key: now - began for (key, _), began in self._began.copy().items()}


class Backend(Protocol):
    """A place to execute work items; used by several threads at once."""

    name: str

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Try the isolation once, and return what the backend can promise.

        Raises:
            SandboxUnavailableError: isolation is not available, and running without it is not allowed.
        """

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Return the items with ``preload`` and ``zygote`` filled in for a warm start."""

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item to its end or to its limits; never raise an error for what the program does."""

    def under_way(self) -> Mapping[str, float]:
        """Return the seconds since each running execution began, by verdict key; leave out waiting items."""

    def close(self) -> None:
        """Release what is kept between items."""
