"""A link to a host that runs as an ordinary process of this machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

from bigcodeflow.judge.remote.backend import HostLostError


class ProcessTransport:
    """The host program, spoken to through its standard streams."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "bigcodeflow.judge.remote.host", "--environment", "starter", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.label = f"process {self.process.pid}"

    def send(self, data: bytes) -> None:
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError as error:
            raise HostLostError(f"nothing can be sent to {self.label} ({error})") from error

    def lines(self) -> Iterator[bytes]:
        yield from self.process.stdout

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                stream.close()
