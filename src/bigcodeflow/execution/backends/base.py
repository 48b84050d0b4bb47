"""What every backend offers: a check of itself, and the execution of one work item."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from bigcodeflow.execution.items import WorkItem

#: How the exit of an item begins that no sandbox could be had for.
NOT_STARTED = "not started: "


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can promise on this machine."""

    isolated: bool
    layers: tuple[str, ...]
    """Names of the active defences, such as 'network namespace'."""
    warm: bool = False
    """Whether samples can be forked from processes with their libraries imported."""


@dataclass(slots=True)
class Outcome:
    """Everything that was observed of one execution; what it means is judged in ``execution.verdicts``."""

    frames: list[dict[str, Any]] = field(default_factory=list)
    """Frames of the harness, in order, each with a valid nonce and number."""
    violations: list[str] = field(default_factory=list)
    """Breaches of the report protocol."""
    killed_for: str = ""
    """Why the executor ended it: wall time, cpu time, memory, report or tests (enough of them were seen); empty if it
    ended by itself."""
    exit: str = ""
    """'exit N' as the sandbox's own process saw it, or 'signal N' where the sandbox itself was killed."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    max_rss_mib: float = 0.0
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    backend: str = ""
    """Name of the backend that did it, where it was not the one that was asked."""
    environment_sha: str = ""
    """Where that one did it."""

    @property
    def not_started(self) -> bool:
        """Whether no sandbox could be had for it, so that nothing is known of the program."""
        return self.exit.startswith(NOT_STARTED)


class Turn:
    """A sample's place among those of its worker, as its observer sees it; this one has all the room there is."""

    def used(self, cores: float, memory_mib: float, *, is_long: bool) -> bool:
        """Called a few times a second; returns whether the sample has to pause, so that others go first.

        Args:
            cores: what it would use if it had them.
            memory_mib: its resident memory.
            is_long: whether it has used more CPU time than is to be expected of a program that solves the task.
        """
        del cores, memory_mib, is_long
        return False

    def wait(self) -> None:
        """Wait, the sample being stopped, until it may go on."""


class UnderWay:
    """The executions of one backend that are under way; used by several threads at once."""

    def __init__(self) -> None:
        self._began: dict[tuple[str, int], float] = {}

    @contextmanager
    def noted(self, item: WorkItem) -> Iterator[None]:
        """Count the item among them while the block lasts; a thread executes one at a time."""
        mine = (item.verdict_key, threading.get_ident())
        self._began[mine] = time.monotonic()
        try:
            yield
        finally:
            del self._began[mine]

    def seconds(self) -> dict[str, float]:
        """How long each has been under way, by its verdict key."""
        now = time.monotonic()
        return {key: now - began for (key, _), began in self._began.copy().items()}


class Backend(Protocol):
    """A place to execute work items; used by several threads at once."""

    name: str

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Try the isolation once.

        Raises:
            SandboxUnavailableError: it cannot be had, and running without is not allowed.
        """

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items with ``preload`` and ``zygote`` filled in for a warm start; called once, with all."""

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item to its end or to its limits; never raises for anything that the program does."""

    def under_way(self) -> Mapping[str, float]:
        """Seconds since each execution began that is under way now, by verdict key; items that wait are not in it."""

    def close(self) -> None:
        """Give back what is kept between items."""
