"""Observes one sandboxed process from its job to its end: sends the job, reads the report, enforces limits."""

import hmac
import json
import os
import selectors
import signal
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

import psutil

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.guest.protocol import FRAME_BYTES, LAST_EVENTS, mac, split_job
from bigcodeflow.judge.host.base import Outcome, Turn
from bigcodeflow.judge.host.cgroups import SlotGroup
from bigcodeflow.judge.items import WorkItem

_READ_BYTES = 1 << 16
_MAX_REPORT_BYTES = 32 << 20
_SECONDS_TO_FIRST_CHECK = 0.05
_SECONDS_BETWEEN_CHECKS = 0.25
_SECONDS_TO_LEAVE = 2.0
#: Wall time after which even a process that never got a core is ended, in multiples of its limit.
_BACKSTOP = 10
_FAILED = ("fail", "error")

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
# Positions after the command name in /proc/PID/stat: utime, stime, cutime, cstime (proc(5), fields 14 to 17), rss (24).
_CPU_FIELDS = slice(11, 15)
_RSS_FIELD = 21

SIGKILL_EXITS = (f"exit {128 + signal.SIGKILL}", f"signal {int(signal.SIGKILL)}")
"""Values of ``exit`` after a SIGKILL of the program or of the sandbox itself."""


class ProcessEnd(NamedTuple):
    """End of a process, as its parent saw it."""

    exit: str
    """'exit N', with N above 128 for signals, or 'signal N' if the sandbox itself was killed."""
    cpu_seconds: float = 0.0
    max_rss_mib: float = 0.0


class SandboxedProcess(ABC):
    """A process in a sandbox, from its start to its end."""

    channel: socket.socket
    """The executor's end of the harness's channel."""
    stdout: int
    stderr: int
    ended: int
    """Pidfd of the process, readable once it has ended: the kernel signals this, and no program can fake it."""
    group: SlotGroup | None = None
    """Control group of the process."""

    @abstractmethod
    def roots(self) -> Sequence[int]:
        """Return ids of processes that, with their descendants, are all processes in the sandbox."""

    @abstractmethod
    def kill(self) -> None:
        """Kill everything in the sandbox; it may have ended already."""

    @abstractmethod
    def end(self) -> ProcessEnd:
        """Wait until no process is left in the sandbox, and return how it ended."""

    @abstractmethod
    def disk_blocks(self) -> int | None:
        """Return the blocks of 512 bytes that its processes read from the disk, after it has ended; None: unknown."""

    def restrain(self, pids: Iterable[int]) -> None:  # noqa: B027 -- a cold start enters its group by itself
        """Put the processes of a sample that does not end at once under a control group's limits, if they have none."""

    def signal_all(self, number: int) -> None:
        """Send a signal to every process in the sandbox, also to processes that are forked in the meantime."""
        sent: set[int] = set()
        # -1, an ended one, would mean everybody.
        while new := {pid for pid in usage_of(self.roots()).pids if pid > 1} - sent:
            for pid in new:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            sent |= new


def observe(
    process: SandboxedProcess, job: dict[str, Any], item: WorkItem, limits: LimitsConfig, turn: Turn
) -> Outcome:
    """Send a waiting process its job, and collect its report and output until it has ended or exceeds a limit.

    The test text is sent only after the program was imported. ``item.time_seconds`` bounds the CPU time, and the wall
    time minus the time that threads waited for cores that others used.
    """
    with closing(_Observation(process, job, item, limits, turn)) as observation:
        observation.watch()
    return observation.outcome


class OutputTail:
    """The last bytes of a stream that may be endless."""

    def __init__(self, limit: int) -> None:
        self._limit, self._data, self.truncated = limit, bytearray(), False

    def feed(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > self._limit:
            self.truncated = True
            del self._data[: len(self._data) - self._limit]

    def text(self) -> str:
        """Return the tail as text; replace NUL and undecodable bytes by the replacement character."""
        return self._data.decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")


class FrameReader:
    """Reads the harness's report and fails closed: any input but the expected frame is a violation."""

    def __init__(self, key: bytes) -> None:
        self._key, self._buffer, self._bytes = key, b"", 0
        self.frames: list[dict[str, Any]] = []
        self.violations: list[str] = []

    def count(self, event: str) -> int:
        return sum(frame["event"] == event for frame in self.frames)

    def until_failure(self) -> list[dict[str, Any]]:
        """Return the frames up to and including the first failed test; empty if no test failed."""
        for number, frame in enumerate(self.frames, 1):
            if frame.get("outcome") in _FAILED:
                return self.frames[:number]
        return []

    @property
    def ended(self) -> bool:
        return bool(self.frames) and self.frames[-1]["event"] in LAST_EVENTS

    def feed(self, data: bytes) -> None:
        self._bytes += len(data)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._accept(line)
        if len(self._buffer) > FRAME_BYTES or self._bytes > _MAX_REPORT_BYTES:
            self.violations.append("the report is larger than any honest one")

    def close(self) -> None:
        """End the input: an incomplete frame is a violation."""
        if self._buffer:
            self.violations.append("the report ends in the middle of a frame")

    def _accept(self, line: bytes) -> None:
        # Decode only after the code is verified, so that text written by the program is never parsed.
        code, _, payload = line.partition(b" ")
        if not hmac.compare_digest(code, mac(self._key, payload)):
            self.violations.append("a frame was forged or damaged")
            return
        frame = json.loads(payload)
        if frame["number"] != len(self.frames):
            self.violations.append("a frame was repeated, left out or reordered")
        elif self.ended:
            self.violations.append("a frame followed the end of the report")
        else:
            self.frames.append(frame)


class ThreadTimes(NamedTuple):
    """Time that a thread ran, and time that it was ready to run but waited for a core."""

    ran_seconds: float = 0.0
    waited_seconds: float = 0.0

    def since(self, earlier: "ThreadTimes") -> "ThreadTimes":
        return ThreadTimes(self.ran_seconds - earlier.ran_seconds, self.waited_seconds - earlier.waited_seconds)


class ProcessUsage(NamedTuple):
    """Usage of a process tree so far; the CPU time includes children that ended and were waited for."""

    cpu_seconds: float
    rss_mib: float
    threads: dict[int, ThreadTimes]
    """By thread id."""
    pids: list[int]


def waited_for_others(threads: Sequence[ThreadTimes], wall_seconds: float) -> float:
    """Return the seconds of an interval in which a sample's threads waited for cores that other programs used.

    A thread waits for the other threads of its sample at most as long as these ran. That part does not count, or a
    program could stretch its time with threads that wait for each other.
    """
    total_seconds = sum(one.ran_seconds for one in threads)
    foreign = sum(max(0.0, one.waited_seconds - (total_seconds - one.ran_seconds)) for one in threads)
    return min(foreign, wall_seconds)


def usage_of(roots: Sequence[int]) -> ProcessUsage:
    """Return the usage of processes with all descendants; processes that end meanwhile may be left out."""
    ticks, pages = 0, 0
    threads: dict[int, ThreadTimes] = {}
    pids = list(roots)
    for pid in pids:  # grows on the way
        with suppress(OSError, ValueError, IndexError):
            fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[_CPU_FIELDS])
            pages += int(fields[_RSS_FIELD])
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- Path objects double the cost here
                folder = f"/proc/{pid}/task/{thread}"
                ran, waited, _ = _read(f"{folder}/schedstat").split()
                threads[int(thread)] = ThreadTimes(int(ran) / 1e9, int(waited) / 1e9)
                pids.extend(int(child) for child in _read(f"{folder}/children").split())
    return ProcessUsage(ticks / _TICKS_PER_SECOND, pages * _PAGE_MIB, threads, pids)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 -- likewise
        return file.read()


def _proportional_mib(pids: Sequence[int]) -> float:
    """Return the MiB of processes with shared pages counted once (proportional set size), else their resident size.

    A hundred forks of a process with large libraries use little more memory than the process alone, but the sum of
    their resident sizes is a hundred times larger. The kernel must walk through all pages of each process for this.
    """
    total_bytes = 0
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            try:
                total_bytes += process.memory_full_info().pss
            except (psutil.AccessDenied, AttributeError):
                total_bytes += process.memory_info().rss
    return total_bytes / (1 << 20)


class _Observation:
    def __init__(
        self, process: SandboxedProcess, job: dict[str, Any], item: WorkItem, limits: LimitsConfig, turn: Turn
    ) -> None:
        self._process, self._item, self._most_mib, self._turn = process, item, limits.memory_mib, turn
        first, self._test = split_job(job)
        self._outgoing = memoryview(first)
        self._frames = FrameReader(job["nonce"].encode())
        self._stdout, self._stderr = OutputTail(limits.output_kib << 10), OutputTail(limits.output_kib << 10)
        self.outcome = Outcome()
        self._began = self._checked = time.monotonic()
        self._threads: dict[int, ThreadTimes] = {}
        self._waited_seconds = 0.0
        self._selector = selectors.PollSelector()  # epoll would need one more descriptor for each of 128 samples
        sources = ((process.stdout, self._stdout), (process.stderr, self._stderr), (process.channel, self._frames))
        for stream, sink in sources:
            self._selector.register(stream, selectors.EVENT_READ, sink)
        process.channel.settimeout(0)
        self._send()
        self._selector.register(process.ended, selectors.EVENT_READ, None)

    def watch(self) -> None:
        """Read report and output of the process until it has ended; kill it when it exceeds a limit."""
        check_at = self._began + _SECONDS_TO_FIRST_CHECK
        leave_by = None
        while not self._pump(max(0.0, check_at - time.monotonic())):
            now = time.monotonic()
            if self._test and self._frames.count("imported"):
                self._outgoing, self._test = memoryview(bytes(self._outgoing) + self._test), b""
                self._send()
            if self._frames.violations:
                self._kill("report")
            if self._has_seen_enough():
                self._kill("tests")
            if leave_by is None and self._frames.ended:
                leave_by = now + _SECONDS_TO_LEAVE
            elif leave_by is not None and now > leave_by:
                self._process.kill()  # processes that the program left behind keep the sandbox open; its tests are over
            if now >= check_at:
                self._enforce(now)
                check_at = time.monotonic() + _SECONDS_BETWEEN_CHECKS
        self._selector.unregister(self._process.ended)
        self._process.kill()  # processes that the program left behind; after that the pipes are finite
        give_up_at = time.monotonic() + _SECONDS_TO_LEAVE
        while self._selector.get_map() and time.monotonic() < give_up_at:
            for key, _ in self._selector.select(0.1):
                self._receive(key)
        self._note_end()

    def close(self) -> None:
        self._process.kill()
        self._selector.close()

    def _has_seen_enough(self) -> bool:
        item, frames = self._item, self._frames
        return 0 < item.stop_after <= frames.count("test") or (item.fail_fast and bool(frames.until_failure()))

    def _pump(self, timeout_seconds: float) -> bool:
        ended = False
        for key, ready in self._selector.select(timeout_seconds):
            if key.data is None:
                ended = True
                continue
            if ready & selectors.EVENT_WRITE:
                self._send()
            if ready & selectors.EVENT_READ:
                self._receive(key)
        return ended

    def _send(self) -> None:
        """Write as much outgoing data as the channel accepts; the rest follows when it accepts more."""
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
            self._selector.modify(channel, selectors.EVENT_READ | waiting, self._frames)

    def _receive(self, key: selectors.SelectorKey) -> None:
        with suppress(ConnectionError):
            if data := os.read(key.fd, _READ_BYTES):
                key.data.feed(data)
                return
        self._selector.unregister(key.fileobj)

    def _enforce(self, now: float) -> None:
        usage = usage_of(self._process.roots())
        limit_seconds, outcome = self._item.time_seconds, self.outcome
        if usage.rss_mib > self._most_mib:  # forks share most of what each of them holds
            usage = usage._replace(rss_mib=_proportional_mib(usage.pids))
        if self._checked > self._began:  # restrain() may take tens of milliseconds, longer than most samples run
            self._process.restrain(usage.pids)
        # Cores that the sample wanted since the last check: CPU time that it got, and time that it waited for.
        before, self._threads = self._threads, self._threads | usage.threads
        new = [times.since(before.get(number, ThreadTimes())) for number, times in usage.threads.items()]
        wanted = usage.cpu_seconds - outcome.cpu_seconds + sum(one.waited_seconds for one in new)
        cores = max(0.0, wanted) / max(now - self._checked, 1e-3)
        is_long = usage.cpu_seconds > self._item.long_after_seconds
        must_pause = self._turn.used(cores, usage.rss_mib, is_long=is_long)
        self._waited_seconds += waited_for_others(new, now - self._checked)
        self._checked = now
        outcome.cpu_seconds = max(outcome.cpu_seconds, usage.cpu_seconds)
        outcome.max_rss_mib = max(outcome.max_rss_mib, usage.rss_mib)
        wall = now - self._began
        # Check memory first: a program that waits for a child killed for its memory also exceeds the time limit.
        if usage.rss_mib > self._most_mib or self._oom_kills():
            self._kill("memory")
        elif usage.cpu_seconds > limit_seconds:
            self._kill("cpu time")
        elif wall > limit_seconds + min(self._waited_seconds, (_BACKSTOP - 1) * limit_seconds):
            self._kill("wall time")
        elif must_pause and not self._frames.ended:
            self._pause()

    def _oom_kills(self) -> int:
        return self._process.group.usage().oom_kills if self._process.group else 0

    def _pause(self) -> None:
        """Stop the sample and its clock until it may continue."""
        began = time.monotonic()
        self._process.signal_all(signal.SIGSTOP)
        self._turn.wait()
        self._process.signal_all(signal.SIGCONT)
        paused_seconds = time.monotonic() - began
        self._began += paused_seconds
        self._checked += paused_seconds

    def _kill(self, reason: str) -> None:
        if not self.outcome.killed_for and not self._frames.ended:
            self.outcome.killed_for = reason
        self._process.kill()

    def _note_end(self) -> None:
        oom_kills = self._oom_kills()
        end = self._process.end()
        outcome, frames = self.outcome, self._frames
        frames.close()
        outcome.exit = end.exit
        if oom_kills and not frames.ended and not outcome.killed_for:
            outcome.killed_for = "memory"
        outcome.wall_seconds = time.monotonic() - self._began
        last = frames.frames[-1] if frames.ended else {"cpu_seconds": 0.0, "max_rss_mib": 0.0}
        outcome.cpu_seconds = max(outcome.cpu_seconds, end.cpu_seconds, float(last["cpu_seconds"]))
        outcome.max_rss_mib = max(outcome.max_rss_mib, end.max_rss_mib, float(last["max_rss_mib"]))
        outcome.frames, outcome.violations = frames.frames, frames.violations
        if self._item.fail_fast and (upto_failure := frames.until_failure()):
            # Drop frames that came before the kill took effect: the outcome must not depend on timing.
            outcome.frames, outcome.killed_for = upto_failure, "tests"
        outcome.stdout, outcome.stdout_truncated = self._stdout.text(), self._stdout.truncated
        outcome.stderr, outcome.stderr_truncated = self._stderr.text(), self._stderr.truncated
