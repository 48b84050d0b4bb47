"""The worker's side of a warm sandbox: starts its supervisor, and asks it for sample namespaces and zygotes."""

import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends import bubblewrap
from bigcodeflow.execution.backends.observation import OutputTail

_REPLY_SECONDS = 30.0
_IMPORT_SECONDS = 300.0
_MESSAGE_BYTES = 1 << 16
_OUTPUT_BYTES = 1 << 14


class WarmStartError(OSError):
    """A supervisor or zygote does not reply as it should: the sample has to be started elsewhere."""


class UnforkableError(WarmStartError):
    """A library starts threads when it is imported: a fork of its process may hang."""


class SampleNamespaces:
    """Empty namespaces for one sample, held by a process of their own."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.pid = pid_of(descriptor)

    def kill(self) -> None:
        """End everything in them."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def wait_until_empty(self) -> bool:
        """Wait for the end of their last process; false if the kernel does not let go of it."""
        return readable(self.descriptor, _REPLY_SECONDS)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)


class ZygoteClient:
    """A process with libraries imported, which is forked for samples and for other zygotes."""

    def __init__(self, control: socket.socket, modules: Sequence[str]) -> None:
        """Import modules into a zygote that has just been forked.

        Raises:
            UnforkableError: it has threads now.
            WarmStartError: it did not come to an end with them.
        """
        self._control, self._lock = control, threading.Lock()
        self.pid, self._descriptor = -1, -1
        control.settimeout(_IMPORT_SECONDS)
        try:
            self._request({"op": "import", "modules": list(modules)})
            data, (self._descriptor,) = _reply(control)
        except WarmStartError:
            self.close()
            raise
        self.pid = pid_of(self._descriptor)
        if data["threads"] != 1:
            self.close()
            raise UnforkableError(f"a process with {', '.join(modules)} has {data['threads']} threads")

    def fork(self, modules: Sequence[str]) -> "ZygoteClient":
        """Another zygote that starts with this one's libraries and imports more.

        Raises:
            WarmStartError: it cannot be had; UnforkableError, where it has threads.
        """
        return ZygoteClient(_open_request(self._control, self._lock, "fork"), modules)

    def start_sample(self, descriptors: Sequence[int]) -> None:
        """Fork a sample: [reply, channel, stdout, stderr, namespaces]; its replies come on the first.

        Raises:
            WarmStartError: the zygote is gone.
        """
        self._request({"op": "sample"}, descriptors)

    def close(self) -> None:
        """End the process; samples and zygotes that it forked go on."""
        self._control.close()
        if self._descriptor >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            os.close(self._descriptor)
            self._descriptor = -1

    def _request(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        with self._lock:
            _send(self._control, request, descriptors)


class SupervisorClient:
    """The outer sandbox with its first process; one a worker, used by all its threads."""

    def __init__(self, environment: InstalledEnvironment, limits: LimitsConfig) -> None:
        """Start it.

        Raises:
            WarmStartError: it does not start here; the message ends with its output.
        """
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._output = OutputTail(_OUTPUT_BYTES)
        with there:
            self._process = _start(environment, limits, there.fileno())
        threading.Thread(target=self._read_output, name="supervisor-output", daemon=True).start()
        self._control.settimeout(_REPLY_SECONDS)
        try:
            _reply(self._control)
        except WarmStartError as error:
            self.close()
            raise WarmStartError(f"{error}: {' '.join(self._output.text().split())[-300:]}") from None

    @property
    def pid(self) -> int:
        """The outermost process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether its process still runs."""
        return self._process.poll() is None

    def sample_namespaces(self) -> SampleNamespaces:
        """Fresh namespaces.

        Raises:
            WarmStartError: they cannot be had.
        """
        with _open_request(self._control, self._lock, "namespaces") as here:
            here.settimeout(_REPLY_SECONDS)
            return SampleNamespaces(_reply(here)[1][0])

    def zygote(self) -> ZygoteClient:
        """A zygote without libraries.

        Raises:
            WarmStartError: it cannot be had.
        """
        return ZygoteClient(_open_request(self._control, self._lock, "zygote"), ())

    def close(self) -> None:
        """End the outer sandbox with everything inside."""
        self._control.close()
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def _read_output(self) -> None:
        # Read to the end, or a library that talks while it is imported would block the zygotes for ever.
        if self._process.stdout:
            with self._process.stdout as stream:
                while data := os.read(stream.fileno(), _OUTPUT_BYTES):
                    self._output.feed(data)


def receive(connection: socket.socket, size: int = _MESSAGE_BYTES) -> tuple[bytes, list[int]]:
    """One message with its descriptors; empty at the end, after the connection's time-out, or when it broke."""
    try:
        data, descriptors, _, _ = socket.recv_fds(connection, size, 4)
    except OSError:
        return b"", []
    return data, descriptors


def readable(descriptor: int, timeout_seconds: float) -> bool:
    """Whether the descriptor can be read from, waiting for it so long."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout_seconds * 1000))


def pid_of(descriptor: int) -> int:
    """Process id, as this process sees it, of a process descriptor; -1 when it has ended."""
    for line in Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return -1


def _start(environment: InstalledEnvironment, limits: LimitsConfig, control_fd: int) -> "subprocess.Popen[bytes]":
    as_root = os.getuid() == 0
    user = bubblewrap.sandbox_uid() if as_root else os.getuid()
    settings = {
        "control": control_fd,
        "user": user,
        "group": user if as_root else os.getgid(),
        "disk_bytes": limits.disk_mib << 20,
        "home_template": str(environment.home_template or ""),
        "masked": bubblewrap.masked_files(),
    }
    with bubblewrap.identity_files(bubblewrap.SAMPLE_ID) as files:
        return subprocess.Popen(
            bubblewrap.supervisor_command(
                environment=environment, limits=limits, data_fds=files, as_root=as_root, settings=json.dumps(settings)
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(control_fd, *files.values()),
            env={},
            cwd="/",
            start_new_session=True,
        )


def _open_request(control: socket.socket, lock: threading.Lock, operation: str) -> socket.socket:
    """Send a request with a connection of its own; the reply comes on what is returned."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there, lock:
        try:
            _send(control, {"op": operation}, [there.fileno()])
        except WarmStartError:
            here.close()
            raise
    return here


def _send(control: socket.socket, request: dict[str, Any], descriptors: Sequence[int]) -> None:
    try:
        socket.send_fds(control, [json.dumps(request).encode()], list(descriptors))
    except OSError as error:
        raise WarmStartError(f"the warm sandbox takes no request for {request['op']} any more ({error})") from None


def _reply(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message.

    Raises:
        WarmStartError: none came.
    """
    data, descriptors = receive(connection)
    if not data:
        raise WarmStartError("the warm sandbox does not answer")
    reply: dict[str, Any] = json.loads(data)
    return reply, descriptors
