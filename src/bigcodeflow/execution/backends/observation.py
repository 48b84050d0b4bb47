"""Accompanies one sandboxed process from its job to its end: feeds it, reads it, and ends it at its limits."""

import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bigcodeflow.execution.backends.accounting import Usage, shared_once_mib, usage_of
from bigcodeflow.execution.backends.base import OnUsage, Outcome, no_op
from bigcodeflow.execution.backends.report import Frames, Tail
from bigcodeflow.sandbox.protocol import split_job

_READ_BYTES = 1 << 16
_FIRST_LOOK_SECONDS = 0.05
_LOOK_SECONDS = 0.25
_SECONDS_TO_LEAVE = 2.0
#: Wall time at which even a process that never got a core is ended, in multiples of its limit.
_BACKSTOP = 10

SIGKILL_EXITS = (f"exit {128 + signal.SIGKILL}", f"signal {int(signal.SIGKILL)}")
"""How a sandbox ends whose program, or which itself, was killed by a signal that the executor did not send."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the process may use before it is killed."""

    seconds: float
    """CPU time, and likewise wall time less the time that its threads waited for a core."""
    rss_mib: float
    output_bytes: int
    tests: int = 0
    """Reported tests after which nothing more is of interest; 0: all are."""


class End(NamedTuple):
    """How a process ended, as its parent saw it."""

    exit: str
    """'exit N', N above 128 for signals, or 'signal N' where the sandbox itself was killed."""
    cpu_seconds: float = 0.0
    max_rss_mib: float = 0.0


class Sandboxed(Protocol):
    """A process in a sandbox, from its start to its end."""

    channel: socket.socket
    """The executor's end of the harness's channel."""
    stdout: int
    stderr: int
    ended: int
    """Descriptor of the process, readable once it has ended: the kernel says so, and no program can write it."""

    def roots(self) -> Sequence[int]:
        """Processes whose descendants, with themselves, are everything in the sandbox."""

    def kill(self) -> None:
        """End everything in the sandbox; it may have ended already."""

    def end(self) -> End:
        """Wait until nothing is left in the sandbox, and say how it ended."""

    def restrain(self, pids: Iterable[int]) -> None:
        """Bound the processes of a sample that does not end at once, where that takes effort."""

    def oom_kills(self) -> int:
        """Processes that the kernel has killed because the sandbox had used up its memory."""


class _Observation:
    """One process on its way from start to end."""

    def __init__(self, process: Sandboxed, job: dict[str, Any], bounds: Bounds, on_usage: OnUsage) -> None:
        self._process, self._bounds, self._on_usage = process, bounds, on_usage
        first, self._test = split_job(job)
        self._outgoing = memoryview(first)
        self.frames = Frames(job["nonce"].encode())
        self.stdout, self.stderr = Tail(bounds.output_bytes), Tail(bounds.output_bytes)
        self.outcome = Outcome()
        self._began = self._looked = time.monotonic()
        self._waited: dict[int, float] = {}
        self._selector = selectors.PollSelector()  # epoll would need one more descriptor for each of 128 samples
        self._open = 0
        for stream, sink in (
            (process.stdout, self.stdout),
            (process.stderr, self.stderr),
            (process.channel, self.frames),
        ):
            self._selector.register(stream, selectors.EVENT_READ, sink)
            self._open += 1
        process.channel.settimeout(0)
        self._send()
        self._selector.register(process.ended, selectors.EVENT_READ, None)

    def watch(self) -> None:
        """Feed the sinks until the process has ended; kill it when it passes a bound."""
        look_at = self._began + _FIRST_LOOK_SECONDS
        leave_by = None
        while not self._pump(max(0.0, look_at - time.monotonic())):
            now = time.monotonic()
            if self._test and self.frames.imported:
                self._outgoing, self._test = memoryview(bytes(self._outgoing) + self._test), b""
                self._send()
            if self.frames.violations:
                self._kill("report")
            if 0 < self._bounds.tests <= self.frames.tests_reported:
                self._kill("tests")
            if leave_by is None and self.frames.ended:
                leave_by = now + _SECONDS_TO_LEAVE
            elif leave_by is not None and now > leave_by:
                self._process.kill()  # something the program left behind holds the sandbox open; its tests are over
            if now >= look_at:
                self._enforce(now)
                look_at = now + _LOOK_SECONDS
        self._drain()
        self._note_end()

    def _pump(self, timeout_seconds: float) -> bool:
        ended = False
        for key, ready in self._selector.select(timeout_seconds):
            if key.data is None:
                ended = True
                continue
            if ready & selectors.EVENT_WRITE:
                self._send()
            if ready & selectors.EVENT_READ:
                self._read(key)
        return ended

    def _send(self) -> None:
        """Write of the outgoing messages what the channel takes; the rest follows when it takes more."""
        channel = self._process.channel
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[channel.send(self._outgoing) :]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._outgoing = memoryview(b"")  # a harness that is gone needs no test text
        if channel in self._selector.get_map():
            waiting = selectors.EVENT_WRITE if self._outgoing else 0
            self._selector.modify(channel, selectors.EVENT_READ | waiting, self.frames)

    def _read(self, key: selectors.SelectorKey) -> None:
        try:
            data = os.read(key.fd, _READ_BYTES)
        except ConnectionError:
            data = b""
        if data:
            key.data.feed(data)
        else:
            self._selector.unregister(key.fileobj)
            self._open -= 1

    def _drain(self) -> None:
        self._selector.unregister(self._process.ended)
        self._process.kill()  # what the program left behind; the pipes are finite then
        give_up_at = time.monotonic() + _SECONDS_TO_LEAVE
        while self._open and time.monotonic() < give_up_at:
            for key, _ in self._selector.select(0.1):
                self._read(key)

    def _enforce(self, now: float) -> None:
        usage = usage_of(self._process.roots())
        if usage.rss_mib > self._bounds.rss_mib:  # forks share most of what each of them holds
            usage = usage._replace(rss_mib=shared_once_mib(usage.pids))
        if self._looked > self._began:  # it may take tens of milliseconds, which most samples do not last
            self._process.restrain(usage.pids)
        self._tell(usage, now)
        self.outcome.cpu_seconds = max(self.outcome.cpu_seconds, usage.cpu_seconds)
        self.outcome.max_rss_mib = max(self.outcome.max_rss_mib, usage.rss_mib)
        self._waited.update(usage.waited_seconds)
        wall = now - self._began
        if usage.cpu_seconds > self._bounds.seconds:
            self._kill("cpu time")
        elif wall > self._bounds.seconds + min(sum(self._waited.values()), (_BACKSTOP - 1) * self._bounds.seconds):
            self._kill("wall time")
        elif usage.rss_mib > self._bounds.rss_mib:
            self._kill("memory")

    def _tell(self, usage: Usage, now: float) -> None:
        """Report the share of a core that the sample wanted since the last look: what it got and what it waited for."""
        wanted = usage.cpu_seconds - self.outcome.cpu_seconds
        wanted += sum(usage.waited_seconds.values()) - sum(
            self._waited.get(thread, 0.0) for thread in usage.waited_seconds
        )
        self._on_usage(max(0.0, wanted) / max(now - self._looked, 1e-3), usage.rss_mib)
        self._looked = now

    def _kill(self, reason: str) -> None:
        if not self.outcome.killed_for and not self.frames.ended:
            self.outcome.killed_for = reason
        self._process.kill()

    def _note_end(self) -> None:
        oom_kills = self._process.oom_kills()
        end = self._process.end()
        self.outcome.exit = end.exit
        if oom_kills and not self.frames.ended and not self.outcome.killed_for:
            self.outcome.killed_for = "memory"
        self.outcome.wall_seconds = time.monotonic() - self._began
        told = self.frames.frames[-1] if self.frames.ended else {"cpu_seconds": 0.0, "max_rss_mib": 0.0}
        self.outcome.cpu_seconds = max(self.outcome.cpu_seconds, end.cpu_seconds, float(told["cpu_seconds"]))
        self.outcome.max_rss_mib = max(self.outcome.max_rss_mib, end.max_rss_mib, float(told["max_rss_mib"]))

    def close(self) -> None:
        self._process.kill()
        self._selector.close()


def observe(process: Sandboxed, *, job: dict[str, Any], bounds: Bounds, on_usage: OnUsage = no_op) -> Outcome:
    """Give the process its job, and collect everything it shows until nothing is left of it.

    Args:
        process: it waits for its job.
        job: the harness's job with the test text, which is sent only after the program was imported.
        bounds: limits that are enforced from outside.
        on_usage: called with what the sample uses.
    """
    observation = _Observation(process, job, bounds, on_usage)
    try:
        observation.watch()
    finally:
        observation.close()
    observation.frames.close()
    return _filled(observation)


def _filled(observation: _Observation) -> Outcome:
    outcome = observation.outcome
    outcome.frames, outcome.violations = observation.frames.frames, observation.frames.violations
    outcome.stdout, outcome.stdout_truncated = observation.stdout.text(), observation.stdout.truncated
    outcome.stderr, outcome.stderr_truncated = observation.stderr.text(), observation.stderr.truncated
    return outcome


def process_limits(*, address_space_mib: int, processes: int, disk_mib: int) -> dict[str, int]:
    """Limits that the harness sets on itself, by their names in the ``resource`` module.

    They bound each process; the executor bounds their sum. CPU time is not among them: under such a limit the kernel
    lets a program read its own CPU clock in steps of milliseconds only.
    """
    address_space = address_space_mib << 20
    return {
        "RLIMIT_AS": address_space,
        "RLIMIT_DATA": address_space,
        "RLIMIT_STACK": 10 << 20,
        "RLIMIT_NPROC": processes,
        "RLIMIT_NOFILE": min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        "RLIMIT_FSIZE": disk_mib << 20,
        "RLIMIT_CORE": 0,
    }
