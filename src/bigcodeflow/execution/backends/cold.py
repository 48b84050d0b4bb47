"""A sandboxed process that starts from nothing: its own bubblewrap, its own interpreter."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress

from bigcodeflow.execution.backends.cgroups import SlotGroup
from bigcodeflow.execution.backends.observation import End


class ColdProcess:
    """The process of a command line that executes the harness; its standard input is the channel."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        data_fds: Sequence[int] = (),
        variables: dict[str, str] | None = None,
        group: SlotGroup | None = None,
        bare: bool = False,
    ) -> None:
        """Start it.

        Args:
            command: argument vector.
            data_fds: descriptors that it inherits.
            variables: its environment; None passes an empty one.
            group: control group that the command enters by itself.
            bare: the command is the program's own process, with no sandbox around it.
        """
        self._group, self._bare = group, bare
        self.channel, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                command,
                stdin=there.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=data_fds,
                env=variables or {},
                cwd="/",
                start_new_session=True,
            )
        self.stdout, self.stderr = (
            stream.fileno() for stream in (self._process.stdout, self._process.stderr) if stream
        )
        self.ended = os.pidfd_open(self._process.pid)

    def roots(self) -> Sequence[int]:
        """The outermost process."""
        return (self._process.pid,)

    def kill(self) -> None:
        """End the sandbox with its outermost process, on which bubblewrap's others depend."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> End:
        """Wait for the outermost process."""
        code = self._process.wait()
        used = self._group.usage().cpu_seconds if self._group else None
        if code < 0 and self._bare:
            code = 128 - code  # it may have killed itself; a sandbox that was killed is nobody's failure
        return End(f"exit {code}" if code >= 0 else f"signal {-code}", used or 0.0)

    def restrain(self, pids: Iterable[int]) -> None:
        """Nothing to do: the command entered its group when it started."""

    def oom_kills(self) -> int:
        """Processes that the kernel killed at the group's limit of memory."""
        return self._group.usage().oom_kills if self._group else 0

    def close(self) -> None:
        """End what runs, and give everything back."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        os.close(self.ended)
        self.channel.close()
