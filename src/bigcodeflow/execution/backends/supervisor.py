"""The worker's side of a warm sandbox: starts its supervisor, and asks it for cells and zygotes."""

import json
import os
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
from bigcodeflow.execution.backends.descriptors import memory_file, readable, receive
from bigcodeflow.execution.backends.report import Tail

_ANSWER_SECONDS = 30.0
_IMPORT_SECONDS = 300.0
_MESSAGE_BYTES = 1 << 16
_TOLD_BYTES = 1 << 14


class WarmthLostError(OSError):
    """A supervisor or zygote does not answer as it should: what it was asked for has to be done elsewhere."""


class UnforkableError(WarmthLostError):
    """A library starts threads when it is imported: a fork of its process may hang."""


class Cell:
    """Empty namespaces for one sample, held by a process of their own."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.pid = pid_of(descriptor)

    def kill(self) -> None:
        """End everything in it."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def wait_until_empty(self) -> bool:
        """Wait for the end of its last process; false if the kernel does not let go of it."""
        return readable(self.descriptor, _ANSWER_SECONDS)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)


class Zygote:
    """A process with libraries imported, which is forked for samples and for other zygotes."""

    def __init__(self, control: socket.socket, modules: Sequence[str]) -> None:
        """Import modules into a zygote that has just been forked.

        Raises:
            UnforkableError: it has threads now.
            WarmthLostError: it did not come to an end with them.
        """
        self._control, self._lock = control, threading.Lock()
        self.pid, self._descriptor = -1, -1
        control.settimeout(_IMPORT_SECONDS)
        try:
            self._ask({"op": "import", "modules": list(modules)})
            data, (self._descriptor,) = _answer(control)
        except WarmthLostError:
            self.close()
            raise
        self.pid = pid_of(self._descriptor)
        if data["threads"] != 1:
            self.close()
            raise UnforkableError(f"a process with {', '.join(modules)} has {data['threads']} threads")

    def fork(self, modules: Sequence[str]) -> "Zygote":
        """Another zygote that starts with this one's libraries and imports more.

        Raises:
            WarmthLostError: it cannot be had.
        """
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            try:
                self._ask({"op": "fork"}, [there.fileno()])
            except WarmthLostError:
                here.close()
                raise
        return Zygote(here, modules)

    def start_sample(self, descriptors: Sequence[int]) -> None:
        """Fork a sample: [reply, channel, stdout, stderr, cell]; its answers come on reply.

        Raises:
            WarmthLostError: the zygote is gone.
        """
        self._ask({"op": "sample"}, descriptors)

    def close(self) -> None:
        """End the process; samples and zygotes that it forked go on."""
        self._control.close()
        if self._descriptor >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            os.close(self._descriptor)
            self._descriptor = -1

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        with self._lock:
            _send(self._control, request, descriptors)


class Supervisor:
    """The outer sandbox with its first process; one a worker, used by all its threads."""

    def __init__(self, environment: InstalledEnvironment, limits: LimitsConfig, harness_folder: Path) -> None:
        """Start it.

        Raises:
            WarmthLostError: it does not start here; the message says what it told.
        """
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._told = Tail(_TOLD_BYTES)
        with there:
            self._process = _start(environment, limits, harness_folder, there.fileno())
        threading.Thread(target=self._listen, name="supervisor-output", daemon=True).start()
        self._control.settimeout(_ANSWER_SECONDS)
        try:
            _answer(self._control)
        except WarmthLostError as error:
            self.close()
            raise WarmthLostError(f"{error}: {' '.join(self._told.text().split())[-300:]}") from None

    @property
    def pid(self) -> int:
        """The outermost process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether its process still runs."""
        return self._process.poll() is None

    def cell(self) -> Cell:
        """Fresh namespaces.

        Raises:
            WarmthLostError: they cannot be had.
        """
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with here:
            with there:
                self._ask({"op": "cell"}, there)
            here.settimeout(_ANSWER_SECONDS)
            return Cell(_answer(here)[1][0])

    def zygote(self) -> Zygote:
        """A zygote without libraries.

        Raises:
            WarmthLostError: it cannot be had.
        """
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            try:
                self._ask({"op": "zygote"}, there)
            except WarmthLostError:
                here.close()
                raise
        return Zygote(here, ())

    def close(self) -> None:
        """End the outer sandbox with everything inside."""
        self._control.close()
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def _ask(self, request: dict[str, Any], reply: socket.socket) -> None:
        with self._lock:
            _send(self._control, request, [reply.fileno()])

    def _listen(self) -> None:
        # Read to the end, or a library that talks while it is imported would block the zygotes for ever.
        if self._process.stdout:
            with self._process.stdout as stream:
                while data := os.read(stream.fileno(), _TOLD_BYTES):
                    self._told.feed(data)


def pid_of(descriptor: int) -> int:
    """Process id, as this process sees it, of a process descriptor; -1 when it has ended."""
    for line in Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return -1


def _start(
    environment: InstalledEnvironment, limits: LimitsConfig, harness_folder: Path, control_fd: int
) -> "subprocess.Popen[bytes]":
    as_root = os.getuid() == 0
    user = bubblewrap.sandbox_uid() if as_root else os.getuid()
    files = {name: memory_file("etc", text) for name, text in bubblewrap.identity_files(bubblewrap.SAMPLE_ID).items()}
    settings = {
        "control": control_fd,
        "user": user,
        "group": user if as_root else os.getgid(),
        "disk_bytes": limits.disk_mib << 20,
        "home_template": str(environment.home_template or ""),
        "masked": bubblewrap.masked_files(),
    }
    try:
        return subprocess.Popen(
            bubblewrap.supervisor_command(
                environment=environment,
                harness_folder=harness_folder,
                limits=limits,
                data_fds=files,
                as_root=as_root,
                settings=json.dumps(settings),
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(control_fd, *files.values()),
            env={},
            cwd="/",
            start_new_session=True,
        )
    finally:
        for descriptor in files.values():
            os.close(descriptor)


def _send(control: socket.socket, request: dict[str, Any], descriptors: Sequence[int]) -> None:
    try:
        socket.send_fds(control, [json.dumps(request).encode()], list(descriptors))
    except OSError as error:
        raise WarmthLostError(f"a {request['op']} cannot be asked for any more ({error})") from None


def _answer(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message.

    Raises:
        WarmthLostError: none came.
    """
    data, descriptors = receive(connection, _MESSAGE_BYTES)
    if not data:
        raise WarmthLostError("the warm sandbox does not answer")
    answer: dict[str, Any] = json.loads(data)
    return answer, descriptors
