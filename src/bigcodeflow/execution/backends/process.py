"""Runs one sandbox process, collects its report and output, and ends it at its limits."""

import json
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.backends.process_tree import usage_of_tree
from bigcodeflow.sandbox.protocol import FRAME_BYTES, LAST_EVENTS

_READ_BYTES = 1 << 16
_FIRST_LOOK_SECONDS = 0.05
_LOOK_SECONDS = 0.25
_SECONDS_TO_LEAVE = 2.0
_REPORT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the process may use before it is killed."""

    wall_seconds: float
    cpu_seconds: float
    rss_mib: float
    output_bytes: int


class _Tail:
    """The last bytes of a stream that may be endless."""

    def __init__(self, limit: int) -> None:
        self._limit, self._data, self.truncated = limit, bytearray(), False

    def feed(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > self._limit:
            self.truncated = True
            del self._data[: len(self._data) - self._limit]

    def text(self) -> str:
        return self._data.decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")


class _Frames:
    """Reads the harness's report and fails closed: whatever is not exactly due is a violation."""

    def __init__(self, nonce: str) -> None:
        self._nonce, self._buffer, self._bytes = nonce, b"", 0
        self.frames: list[dict[str, Any]] = []
        self.violations: list[str] = []

    @property
    def ended(self) -> bool:
        return bool(self.frames) and self.frames[-1]["event"] in LAST_EVENTS

    def feed(self, data: bytes) -> None:
        self._bytes += len(data)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._accept(line)
        if len(self._buffer) > FRAME_BYTES or self._bytes > _REPORT_BYTES:
            self.violations.append("the report is larger than any honest one")

    def close(self) -> None:
        if self._buffer:
            self.violations.append("the report ends in the middle of a frame")

    def _accept(self, line: bytes) -> None:
        try:
            frame = json.loads(line)
            genuine = frame["nonce"] == self._nonce and frame["number"] == len(self.frames)
        except (ValueError, KeyError, TypeError, RecursionError):
            genuine = False
        if not genuine:
            self.violations.append("a frame was forged or damaged")
        elif self.ended:
            self.violations.append("a frame followed the end of the report")
        else:
            self.frames.append(frame)


class _Run:
    """One process on its way from start to end."""

    def __init__(self, process: subprocess.Popen[bytes], report_fd: int, nonce: str, bounds: Bounds) -> None:
        self._process, self._bounds = process, bounds
        self.frames = _Frames(nonce)
        self.stdout, self.stderr = _Tail(bounds.output_bytes), _Tail(bounds.output_bytes)
        self.outcome = Outcome()
        self._began = time.monotonic()
        self._pid_fd = os.pidfd_open(process.pid)
        self._selector = selectors.DefaultSelector()
        self._open = 0
        for stream, sink in ((process.stdout, self.stdout), (process.stderr, self.stderr), (report_fd, self.frames)):
            self._selector.register(stream, selectors.EVENT_READ, sink)  # type: ignore[arg-type]
            self._open += 1
        self._selector.register(self._pid_fd, selectors.EVENT_READ, None)

    def watch(self) -> None:
        """Feed the sinks until the process has ended; kill it when it passes a bound."""
        look_at = self._began + _FIRST_LOOK_SECONDS
        leave_by = None
        while not self._pump(max(0.0, look_at - time.monotonic())):
            now = time.monotonic()
            if self.frames.violations:
                self._kill("report")
            if leave_by is None and self.frames.ended:
                leave_by = now + _SECONDS_TO_LEAVE
            elif leave_by is not None and now > leave_by:
                self._end_it()  # something the program left behind holds the sandbox open; its tests are over
            if now >= look_at:
                self._enforce(now - self._began)
                look_at = now + _LOOK_SECONDS
        self._drain()
        self._reap()

    def _pump(self, timeout_seconds: float) -> bool:
        ended = False
        for key, _ in self._selector.select(timeout_seconds):
            if key.data is None:
                ended = True
            else:
                self._read(key)
        return ended

    def _read(self, key: selectors.SelectorKey) -> None:
        data = os.read(key.fd, _READ_BYTES)
        if data:
            key.data.feed(data)
        else:
            self._selector.unregister(key.fileobj)
            self._open -= 1

    def _drain(self) -> None:
        # A sandbox's processes are all gone now, so the pipes are finite; without one, daemons may hold them open.
        self._selector.unregister(self._pid_fd)
        give_up_at = time.monotonic() + _SECONDS_TO_LEAVE
        while self._open and time.monotonic() < give_up_at:
            for key, _ in self._selector.select(0.1):
                self._read(key)

    def _enforce(self, wall_seconds: float) -> None:
        usage = usage_of_tree(self._process.pid)
        self.outcome.cpu_seconds = max(self.outcome.cpu_seconds, usage.cpu_seconds)
        self.outcome.max_rss_mib = max(self.outcome.max_rss_mib, usage.rss_mib)
        if wall_seconds > self._bounds.wall_seconds:
            self._kill("wall time")
        elif usage.cpu_seconds > self._bounds.cpu_seconds:
            self._kill("cpu time")
        elif usage.rss_mib > self._bounds.rss_mib:
            self._kill("memory")

    def _kill(self, reason: str) -> None:
        if not self.outcome.killed_for and not self.frames.ended:
            self.outcome.killed_for = reason
        self._end_it()

    def _end_it(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        code = self._process.wait()
        self.outcome.exit = f"exit {code}" if code >= 0 else f"signal {-code}"
        self.outcome.wall_seconds = time.monotonic() - self._began
        if self.frames.ended:
            told = self.frames.frames[-1]
            self.outcome.cpu_seconds = max(self.outcome.cpu_seconds, float(told["cpu_seconds"]))
            self.outcome.max_rss_mib = max(self.outcome.max_rss_mib, float(told["max_rss_mib"]))

    def close(self) -> None:
        if self._process.returncode is None:
            self._end_it()
            self._process.wait()
        self._selector.close()
        os.close(self._pid_fd)


def observe(
    command: Sequence[str],
    *,
    job: dict[str, Any],
    bounds: Bounds,
    data_fds: Sequence[int] = (),
    variables: dict[str, str] | None = None,
) -> Outcome:
    """Run a sandbox command that executes the harness, and collect everything it shows.

    Args:
        command: argument vector.
        job: the harness's job; ``report_fd`` is added here.
        bounds: limits that are enforced from outside.
        data_fds: descriptors that the command inherits.
        variables: environment of the command; None passes an empty one.
    """
    read_fd, write_fd = os.pipe()
    job_fd = memory_file("job", json.dumps(job | {"report_fd": write_fd}).encode())
    try:
        process = subprocess.Popen(
            command,
            stdin=job_fd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(write_fd, *data_fds),
            env=variables or {},
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(write_fd)
        os.close(job_fd)
    with process, open(read_fd, "rb", buffering=0):  # noqa: PTH123 -- closes the descriptor
        run = _Run(process, read_fd, job["nonce"], bounds)
        try:
            run.watch()
        finally:
            run.close()
    run.frames.close()
    return _filled(run)


def memory_file(name: str, content: bytes) -> int:
    """Descriptor of an anonymous file that holds the content, positioned at its start."""
    descriptor = os.memfd_create(name)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _filled(run: _Run) -> Outcome:
    outcome = run.outcome
    outcome.frames, outcome.violations = run.frames.frames, run.frames.violations
    outcome.stdout, outcome.stdout_truncated = run.stdout.text(), run.stdout.truncated
    outcome.stderr, outcome.stderr_truncated = run.stderr.text(), run.stderr.truncated
    return outcome


def process_limits(*, address_space_mib: int, cpu_seconds: float, processes: int, disk_mib: int) -> dict[str, int]:
    """Limits that the harness sets on itself, by their names in the ``resource`` module.

    They bound each process; the executor bounds their sum.
    """
    address_space = address_space_mib << 20
    return {
        "RLIMIT_AS": address_space,
        "RLIMIT_DATA": address_space,
        "RLIMIT_STACK": 10 << 20,
        "RLIMIT_CPU": int(cpu_seconds) + 5,
        "RLIMIT_NPROC": processes,
        "RLIMIT_NOFILE": min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        "RLIMIT_FSIZE": disk_mib << 20,
        "RLIMIT_CORE": 0,
    }


SIGKILL_EXITS = (f"exit {128 + signal.SIGKILL}", f"signal {int(signal.SIGKILL)}")
"""How a sandbox ends whose program, or which itself, was killed by a signal that the executor did not send."""
