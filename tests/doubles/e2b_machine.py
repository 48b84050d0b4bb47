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

    def run(self, arguments: Sequence[str], variables: Mapping[str, str], *, stdin: bool) -> "Command":
        """A command in it, running."""
        command = Command(self._entered(*arguments), dict(variables), stdin=stdin)
        self.commands[command.pid] = command
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
    """One process as envd keeps it: what it writes goes to whoever listens at that moment, and to nobody later."""

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str], *, stdin: bool) -> None:
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"} | variables,
        )
        self.pid = self.process.pid
        self._listeners: list[queue.Queue[dict[str, Any] | None]] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._open = {"stdout", "stderr"}
        for name in ("stdout", "stderr"):
            threading.Thread(target=self._read, args=(name,), daemon=True).start()

    def listen(self) -> "queue.Queue[dict[str, Any] | None]":
        """What it writes from now on, as events; None after its end."""
        listener: queue.Queue[dict[str, Any] | None] = queue.Queue()
        with self._lock:
            self._listeners.append(listener)
            if not self._open:
                listener.put(None)
        return listener

    def write(self, data: bytes) -> None:
        """Put something into its standard input."""
        with self._writing:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def kill(self) -> None:
        """Kill it: what entered the namespaces is a child of what led it there."""
        for child in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)

    def _read(self, name: str) -> None:
        stream = getattr(self.process, name)
        while chunk := os.read(stream.fileno(), 1 << 15):
            self._tell({"name": name, "chunk": chunk})
        with self._lock:
            self._open.discard(name)
            ended = not self._open
        if ended:
            self.process.wait()
            self._tell(None)
            for one in filter(None, (self.process.stdin, self.process.stdout, self.process.stderr)):
                with suppress(OSError):
                    one.close()

    def _tell(self, event: dict[str, Any] | None) -> None:
        with self._lock:
            for listener in self._listeners:
                listener.put(event)


def _places_below_tmp() -> list[str]:
    """Folders of this checkout, its interpreter and its environments that the sandbox's own /tmp would hide."""
    places = {Path(__file__).parents[2], Path(sys.prefix), environments_root()}
    return sorted(str(place) for place in places if place.is_relative_to("/tmp") and place.exists())
