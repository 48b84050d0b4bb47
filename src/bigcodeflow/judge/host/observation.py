"""Observation of a sandboxed process: send its job, read its report, enforce its limits, and record its end."""

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
#: Multiple of its time limit after which a process is killed even if it never got a core.
_BACKSTOP = 10
_FAILED = ("fail", "error")

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
# Positions after the command name in /proc/PID/stat: utime, stime, cutime, cstime (proc(5), fields 14 to 17), rss (24).
_CPU_FIELDS = slice(11, 15)
_RSS_FIELD = 21

SIGKILL_EXITS = (f"exit {128 + signal.SIGKILL}", f"signal {int(signal.SIGKILL)}")
"""Values of `ProcessEnd.exit` after a SIGKILL of the program or of the sandbox itself."""


class ProcessEnd(NamedTuple):
    """Exit and resource usage of an ended process, as its parent observed them."""

    exit: str
    """'exit N', with N = 128 + signal if a signal ended the process; 'signal N' if the sandbox itself was killed."""
    cpu_seconds: float = 0.0
    max_rss_mib: float = 0.0


class SandboxedProcess(ABC):
    """Process in a sandbox, from its start to its end."""

    channel: socket.socket
    """The executor's end of the harness's channel."""
    stdout: int
    stderr: int
    ended: int
    """Pidfd of the process. The kernel makes it readable when the process has ended; no program can fake this."""
    group: SlotGroup | None = None
    """Control group of the process; None if the process is in no group."""

    @abstractmethod
    def roots(self) -> Sequence[int]:
        """Return the ids of the sandbox's top processes; every other process in the sandbox descends from them."""

    @abstractmethod
    def kill(self) -> None:
        """Kill every process in the sandbox; do nothing if all have ended."""

    @abstractmethod
    def end(self) -> ProcessEnd:
        """Wait until no process is left in the sandbox; return exit and usage of the sample."""

    @abstractmethod
    def disk_blocks(self) -> int | None:
        """Return how many 512-byte blocks the ended sandbox's processes have read from the disk; None if unknown."""

    def restrain(self, pids: Iterable[int]) -> None:  # noqa: B027 -- a cold start enters its group by itself
        """Move the sample's processes ``pids`` into a control group, if it has none; only called for longer samples."""

    def signal_all(self, number: int) -> None:
        """Send a signal to every process in the sandbox, including processes that are forked meanwhile."""
        sent: set[int] = set()
        # -1, the id of an ended process, would address all processes of the user.
        while new := {pid for pid in usage_of(self.roots()).pids if pid > 1} - sent:
            for pid in new:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            sent |= new


def observe(
    process: SandboxedProcess, job: dict[str, Any], item: WorkItem, limits: LimitsConfig, turn: Turn
) -> Outcome:
    """Send a waiting process its job, and collect its report and output until it has ended or exceeds a limit.

    The test text is sent only after the program was imported. ``item.time_seconds`` limits the CPU time. It also limits
    the wall time, but time in which threads waited for cores that other programs used does not count.
    """
    with closing(_Observation(process, job, item, limits, turn)) as observation:
        observation.watch()
    return observation.outcome


class OutputTail:
    """Last bytes of an output stream of any length."""

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
    """Reader of the harness's report, a sequence of frames (authenticated JSON). Any other input is a violation."""

    def __init__(self, key: bytes) -> None:
        self._key, self._buffer, self._bytes = key, b"", 0
        self.frames: list[dict[str, Any]] = []
        self.violations: list[str] = []

    def count(self, event: str) -> int:
        return sum(frame["event"] == event for frame in self.frames)

    def until_failure(self) -> list[dict[str, Any]]:
        """Return all frames up to the frame of the first failed test, inclusive; return no frames if no test failed."""
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
        """End the input; record a violation if the last frame is incomplete."""
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
    """Two times of a thread: time in which it ran, and time in which it was ready to run but waited for a core."""

    ran_seconds: float = 0.0
    waited_seconds: float = 0.0

    def since(self, earlier: "ThreadTimes") -> "ThreadTimes":
        return ThreadTimes(self.ran_seconds - earlier.ran_seconds, self.waited_seconds - earlier.waited_seconds)


class ProcessUsage(NamedTuple):
    """Usage of a process tree so far. The CPU time includes ended children if their parents have waited for them."""

    cpu_seconds: float
    rss_mib: float
    threads: dict[int, ThreadTimes]
    """Times of each thread, by thread id."""
    pids: list[int]


def waited_for_others(threads: Sequence[ThreadTimes], wall_seconds: float) -> float:
    """Return the seconds, at most ``wall_seconds``, in which a sample's threads waited for cores of other programs.

    A thread may also have waited for other threads of its own sample, at most as long as those threads ran. That time
    is subtracted: otherwise a program could extend its time limit with threads that wait for each other.
    """
    total_seconds = sum(one.ran_seconds for one in threads)
    foreign = sum(max(0.0, one.waited_seconds - (total_seconds - one.ran_seconds)) for one in threads)
    return min(foreign, wall_seconds)


def usage_of(roots: Sequence[int]) -> ProcessUsage:
    """Return the usage of the processes ``roots`` and their descendants; omit processes that end meanwhile."""
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
    """Return the memory of processes in MiB, with shared pages counted once (proportional set size).

    A hundred forks of a process with large libraries use little more memory than the process alone, but the sum of
    their resident sizes is a hundred times larger. This measurement is slow: the kernel visits all pages of
    each process. If the kernel forbids it for a process, its resident size is added instead.
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
        """Read report and output of the process until the process ends; kill the process when it exceeds a limit."""
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
        """Write as much unsent data as the channel accepts; the rest follows when the channel accepts more."""
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
        """Stop the sample's processes until the sample may continue; the pause does not count as wall time."""
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
