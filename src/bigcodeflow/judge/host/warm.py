"""Host side of warm starts: a sandbox with a supervisor, its zygotes, and the samples forked from zygotes.

The guest side is judge/guest/supervisor.py, which describes the requests. A message on a socket between both sides
(SOCK_SEQPACKET) is sent whole or not at all, so threads share the sockets without a lock.
"""

import json
import logging
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host import bubblewrap
from bigcodeflow.judge.host.cgroups import SlotGroupPool
from bigcodeflow.judge.host.observation import OutputTail, ProcessEnd, SandboxedProcess
from bigcodeflow.judge.items import Layers

logger = logging.getLogger(__name__)

_START_SECONDS = _REPLY_SECONDS = 30.0
_IMPORT_SECONDS = 300.0
_MESSAGE_BYTES = 1 << 16
_OUTPUT_BYTES = 1 << 14
_MAX_ZYGOTES = 48


class WarmStartError(OSError):
    """Error of a warm start: the supervisor or a zygote could not start a sample, so the start must be repeated."""


class UnforkableError(WarmStartError):
    """Error of a zygote whose libraries start threads at import: a fork of this zygote may hang, so it is not used."""


class ZygoteClient:
    """Handle of a zygote: a process with imported libraries, which is forked for samples and for other zygotes."""

    def __init__(self, control: socket.socket, modules: Sequence[str]) -> None:
        """Import ``modules`` into a newly forked zygote, which reads its requests from ``control``."""
        self.control, self._descriptor = control, -1
        control.settimeout(_IMPORT_SECONDS)
        try:
            _send(control, f"import{json.dumps(list(modules))}")
            threads, self._descriptor = _reply_with_descriptor(control)
            if int(threads) != 1:
                raise UnforkableError(
                    f"importing {', '.join(modules)} starts threads ({threads.decode()} are running), so a fork may "
                    "hang: each sample imports these modules after its start"
                )
        except WarmStartError:
            self.close()
            raise
        self.pid = _pid_of(self._descriptor)

    def start_sample(self, descriptors: Sequence[int]) -> None:
        """Fork a sample; ``descriptors``: socket for the reply, channel, stdout, stderr, pidfd of the holder."""
        _send(self.control, "sample", descriptors)

    def close(self) -> None:
        """End the zygote; samples and zygotes that were forked from it continue."""
        self.control.close()
        if self._descriptor >= 0:
            _kill(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


class WarmProcess(SandboxedProcess):
    """Sample forked from a zygote. Another process, the holder, keeps its namespaces and adopts orphans."""

    def __init__(self, zygote: ZygoteClient, control: socket.socket, groups: SlotGroupPool) -> None:
        """Fork the sample from ``zygote``.

        Args:
            control: socket of the supervisor, which starts a process that holds the namespaces until the sample ends.
            groups: pool from which `restrain` takes a control group.
        """
        self._control, self._groups = control, groups
        self._blocks = 0
        self._roots: Sequence[int] = ()
        with ExitStack() as mine, ExitStack() as theirs:
            self._holder = mine.enter_context(_open_request(control, "namespaces"))
            self._holder.settimeout(_REPLY_SECONDS)
            _, self._namespaces = _reply_with_descriptor(self._holder)
            mine.callback(os.close, self._namespaces)
            mine.callback(self.kill)
            self._reply, reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.channel, channel = socket.socketpair()
            for stack, sockets in ((mine, (self._reply, self.channel)), (theirs, (reply, channel))):
                for connection in sockets:
                    stack.enter_context(connection)
            (self.stdout, stdout), (self.stderr, stderr) = os.pipe(), os.pipe()
            for stack, pipes in ((mine, (self.stdout, self.stderr)), (theirs, (stdout, stderr))):
                for descriptor in pipes:
                    stack.callback(os.close, descriptor)
            zygote.start_sample([reply.fileno(), channel.fileno(), stdout, stderr, self._namespaces])
            theirs.close()
            self._reply.settimeout(_START_SECONDS)
            _, descriptors = _receive(self._reply)
            if not descriptors:
                raise WarmStartError("a zygote ended or timed out before it forked its sample")
            self.ended = descriptors[0]
            mine.callback(os.close, self.ended)
            self._resources = mine.pop_all()

    def roots(self) -> Sequence[int]:
        """Return the process ids of the sample and of the holder, which adopts the sample's orphaned processes."""
        if not self._roots:
            self._roots = (_pid_of(self.ended), _pid_of(self._namespaces))
        return self._roots

    def kill(self) -> None:
        _kill(self._namespaces)

    def end(self) -> ProcessEnd:
        """Wait for the zygote's report, kill remaining processes, and return the report ('signal 9' if none came)."""
        account, _ = _receive(self._reply)
        self.kill()
        if not readable(self._namespaces, _REPLY_SECONDS):
            logger.warning("a killed sandbox does not end: its processes wait in the kernel (uninterruptible)")
        if not account:
            return ProcessEnd("signal 9")
        status, cpu_seconds, max_rss_kib, blocks = account.split()
        self._blocks = int(blocks)
        code = os.waitstatus_to_exitcode(int(status))
        return ProcessEnd(f"exit {code if code >= 0 else 128 - code}", float(cpu_seconds), int(max_rss_kib) / 1024)

    def disk_blocks(self) -> int | None:
        with suppress(WarmStartError):
            _send(self._control, "reap")
            return self._blocks + int(_reply(self._holder))  # the holder reports what orphans read
        return None

    def restrain(self, pids: Iterable[int]) -> None:
        """Move the sample into a control group if it is in none; only for long samples, because the move is slow."""
        if self.group is None and (group := self._groups.take()):
            self.group = group
            for pid in pids:
                group.enter(pid)

    def close(self) -> None:
        self.kill()
        if self.group:
            self._groups.give(self.group)
            self.group = None
        self._resources.close()


class _ZygoteSlot:
    """Place for a zygote (None until made), with a lock for making the zygote and the number of its current users."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.zygote: ZygoteClient | None = None

    def close(self) -> None:
        if self.zygote:
            with suppress(OSError):
                self.zygote.close()
            self.zygote = None


class WarmSandbox:
    """Sandbox in which a supervisor, zygotes and their samples run; all threads of a worker share this sandbox."""

    def __init__(self, environment: InstalledEnvironment, limits: LimitsConfig, groups: SlotGroupPool) -> None:
        """Start the supervisor and a zygote without libraries; the WarmStartError of a failure quotes the output."""
        self._groups = groups
        self._lock = threading.Lock()
        self._slots: dict[Layers, _ZygoteSlot] = {}  # in the order of their last use
        self._unforkable: set[Layers] = set()
        self._output = OutputTail(_OUTPUT_BYTES)
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self._process = self._started(environment, limits, there.fileno())
        self._control.settimeout(_REPLY_SECONDS)
        try:
            _reply(self._control)
            with self._zygote(()):
                pass
        except WarmStartError as error:
            self.close()
            raise WarmStartError(f"{error}: {' '.join(self._output.text().split())[-300:]}") from None

    @property
    def alive(self) -> bool:
        """True while the supervisor runs; when the supervisor ends, every other process of the sandbox ends too."""
        return self._process.poll() is None

    @property
    def zygotes(self) -> dict[Layers, ZygoteClient]:
        with self._lock:
            return {layers: slot.zygote for layers, slot in self._slots.items() if slot.zygote}

    @contextmanager
    def process(self, layers: Layers) -> Iterator[WarmProcess]:
        """Yield a sample forked from the zygote that has the modules ``layers``; raise WarmStartError on failure.

        If the modules of a layer start threads, the sample is forked from the zygote that has only the earlier layers.
        """
        forkable = (layers[:end] for end in range(len(layers)) if layers[: end + 1] in self._unforkable)
        with (
            self._zygote(next(forkable, layers)) as zygote,
            closing(WarmProcess(zygote, self._control, self._groups)) as process,
        ):
            yield process

    def close(self) -> None:
        self._control.close()
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        with self._lock:
            slots = list(self._slots.values())
            self._slots.clear()
        for slot in slots:
            slot.close()

    @contextmanager
    def _zygote(self, layers: Layers) -> Iterator[ZygoteClient]:
        """Make the zygote with the modules ``layers`` if needed, and yield it; then end surplus unused zygotes."""
        with self._lock:
            slot = self._slots[layers] = self._slots.pop(layers) if layers in self._slots else _ZygoteSlot()
            slot.users += 1
        try:
            with slot.lock:
                zygote = slot.zygote = slot.zygote or self._make(layers)
            yield zygote
        except WarmStartError as error:  # the next caller gets another zygote
            with self._lock:
                if isinstance(error, UnforkableError):
                    self._unforkable.add(layers)  # its samples import these modules for themselves
                if self._slots.get(layers) is slot:
                    del self._slots[layers]
            with slot.lock:
                slot.close()
            raise
        finally:
            with self._lock:
                slot.users -= 1
                idle = [key for key, other in self._slots.items() if key and not other.users and other.zygote]
                surplus = [self._slots.pop(key) for key in idle[: max(0, len(self._slots) - _MAX_ZYGOTES)]]
            for other in surplus:
                other.close()

    def _make(self, layers: Layers) -> ZygoteClient:
        if not layers:
            return ZygoteClient(_open_request(self._control, "zygote"), ())
        with self._zygote(layers[:-1]) as base:
            control = _open_request(base.control, "fork")
        return ZygoteClient(control, layers[-1])

    def _started(
        self, environment: InstalledEnvironment, limits: LimitsConfig, control_fd: int
    ) -> "subprocess.Popen[bytes]":
        """Start the supervisor from a thread that waits for its end: an earlier end of the thread would kill it."""
        process: Future[subprocess.Popen[bytes]] = Future()

        def hold() -> None:
            try:
                started = _start(environment, limits, control_fd)
            except OSError as error:
                process.set_exception(error)
                return
            process.set_result(started)
            # Read to the end, or a library that prints during its import would block the zygotes forever.
            if started.stdout:
                with started.stdout as stream:
                    while data := os.read(stream.fileno(), _OUTPUT_BYTES):
                        self._output.feed(data)

        threading.Thread(target=hold, name="supervisor", daemon=True).start()
        return process.result()


def _start(environment: InstalledEnvironment, limits: LimitsConfig, control_fd: int) -> "subprocess.Popen[bytes]":
    as_root = os.getuid() == 0
    user = bubblewrap.sandbox_uid() if as_root else os.getuid()
    settings = {
        "control": control_fd,
        "user": user,
        "group": user if as_root else os.getgid(),
        "first_sample_user": bubblewrap.sample_users(),
        "sample_users": bubblewrap.SAMPLE_USERS if as_root else 0,
        "disk_bytes": limits.disk_mib << 20,
        "home_template": str(environment.home_template or ""),
        "masked": bubblewrap.masked_files(),
    }
    with bubblewrap.identity_files(bubblewrap.SAMPLE_ID) as files:
        command = bubblewrap.supervisor_command(
            environment=environment, limits=limits, data_fds=files, as_root=as_root, settings=json.dumps(settings)
        )
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(control_fd, *files.values()),
            env={},
            cwd="/",
            start_new_session=True,
        )


def readable(descriptor: int, timeout_seconds: float) -> bool:
    """Wait up to ``timeout_seconds`` until the descriptor is readable; return True if it is readable."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout_seconds * 1000))


def _kill(descriptor: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)


def _pid_of(descriptor: int) -> int:
    """Return the process id, as this process sees it, of a pidfd; -1 if the process has ended."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)


def _open_request(control: socket.socket, operation: str) -> socket.socket:
    """Send a request with one end of a new socket pair; return the other end, on which the reply arrives."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        try:
            _send(control, operation, [there.fileno()])
        except WarmStartError:
            here.close()
            raise
    return here


def _send(control: socket.socket, request: str, descriptors: Sequence[int] = ()) -> None:
    try:
        socket.send_fds(control, [request.encode()], list(descriptors))
    except OSError as error:
        raise WarmStartError(f"the warm sandbox does not accept the request {request[:10]} ({error})") from None


def _receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Receive a message; return bytes and descriptors, both empty if the connection closed, timed out or broke."""
    try:
        return socket.recv_fds(connection, _MESSAGE_BYTES, 4)[:2]
    except OSError:
        return b"", []


def _reply(connection: socket.socket) -> bytes:
    data, _ = _receive(connection)
    if not data:
        raise WarmStartError("the warm sandbox does not answer")
    return data


def _reply_with_descriptor(connection: socket.socket) -> tuple[bytes, int]:
    """Return a reply and its descriptor; raise WarmStartError if no descriptor came: the sender ended or timed out."""
    data, descriptors = _receive(connection)
    if not descriptors:
        raise WarmStartError("a process of the warm sandbox ended before it was ready")
    return data, descriptors[0]
