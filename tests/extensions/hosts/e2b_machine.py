"""What stands for one E2B sandbox: a process tree with a root, processes and a temporary folder of its own.

bubblewrap makes it and stays its first process, so that its end is the end of all. Commands enter its namespaces. It
shows this machine's files, the template's below /opt, and no control groups, as a cloud sandbox's user has none.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bigcodeflow.judge.environments import environments_root


class Machine:
    """The processes of one sandbox; used by several threads at once."""

    def __init__(self, opt: Path, *, disk_mib: int) -> None:
        """Start it; the calling thread has to outlive it, since the kernel ends it with that thread.

        Args:
            opt: what it has below /opt.
            disk_mib: size of its temporary folder.
        """
        reading, writing = os.pipe()
        options = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-pid", "--proc", "/proc"]
        options += ["--ro-bind", "/sys", "/sys", "--size", str(disk_mib << 20), "--perms", "1777", "--tmpfs", "/tmp"]
        for place in _places_below_tmp():
            options += ["--ro-bind", place, place]
        options += ["--ro-bind", str(opt), "/opt", "--cap-add", "ALL", "--die-with-parent", "--info-fd", str(writing)]
        ready = ["sh", "-c", "echo ready; exec sleep infinity"]
        self._init = subprocess.Popen(["bwrap", *options, "--", *ready], pass_fds=[writing], stdout=subprocess.PIPE)
        os.close(writing)
        with os.fdopen(reading) as info, self._init.stdout as output:
            self._pid = json.load(info)["child-pid"]
            output.readline()  # its files are where they belong
        self.commands: dict[int, Command] = {}

    def run(self, arguments: Sequence[str], variables: Mapping[str, str]) -> "Command":
        """A command in it, running."""
        command = Command(self._entered(*arguments), dict(variables))
        self.commands[command.process.pid] = command
        return command

    def write(self, path: str, content: bytes) -> str:
        """Put a file there; what it says where it cannot, such as 'No space left on device'."""
        done = subprocess.run(self._entered("tee", path), input=content, capture_output=True, check=False)
        return done.stderr.decode()

    def end(self) -> None:
        """Kill every process of it."""
        self._init.kill()
        self._init.wait()
        for command in list(self.commands.values()):
            command.process.wait()

    def _entered(self, *arguments: str) -> list[str]:
        return ["nsenter", "--target", str(self._pid), "--mount", "--pid", "--wdns=/tmp", "--", *arguments]


class Command:
    """One process, and what it writes as events, with None at its end."""

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(arguments, env=plain | variables, **pipes)
        self.events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._writing = threading.Lock()
        self._readers = [threading.Thread(target=self._read, args=(one,), daemon=True) for one in ("stdout", "stderr")]
        for reader in self._readers:
            reader.start()
        threading.Thread(target=self._wait, daemon=True).start()

    def write(self, data: bytes) -> None:
        """Put something into its standard input."""
        with self._writing:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def kill(self) -> None:
        """Kill it: what entered the namespaces is a child of what led it there."""
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)

    def _read(self, name: str) -> None:
        with getattr(self.process, name) as stream:
            while chunk := os.read(stream.fileno(), 1 << 15):
                self.events.put({"name": name, "chunk": chunk})

    def _wait(self) -> None:
        for reader in self._readers:
            reader.join()
        self.process.wait()
        self.events.put(None)
        with suppress(OSError):
            self.process.stdin.close()


def _places_below_tmp() -> list[str]:
    """Folders of this checkout, its interpreter and its environments that the sandbox's own /tmp would hide."""
    places = {Path(__file__).parents[3], Path(sys.prefix), environments_root()}
    return sorted(str(place) for place in places if place.is_relative_to("/tmp") and place.exists())
