"""Processes that outlive the command which started them: started, recognized, and ended without hitting a stranger."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_PROC = Path("/proc")
_POLL_SECONDS = 0.1


class ProcessIdentity(BaseModel):
    """A process that stays the same one: its number alone may be another's after a while."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int
    started: str
    """Boot id and clock ticks since that boot."""

    @property
    def alive(self) -> bool:
        """Whether it still runs; a process that only waits to be reaped does not."""
        found = identify(self.pid)
        return found == self


def identify(pid: int) -> ProcessIdentity | None:
    """The process with this number now, or nothing where none runs."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The name in brackets may hold spaces and brackets of its own.
    fields = stat.rpartition(")")[2].split()
    state, started_ticks = fields[0], fields[19]
    return None if state in "ZX" else ProcessIdentity(pid=pid, started=f"{boot_id}:{started_ticks}")


def start(command: Sequence[str], *, folder: Path, log: Path, environment: Mapping[str, str]) -> ProcessIdentity | None:
    """Start a command in a session of its own, so that no terminal takes it along; None if it ended at once."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # Reaps it, should it end before this command does.
    threading.Thread(target=process.wait, daemon=True).start()
    return identify(process.pid)


def marked(mark: str) -> dict[ProcessIdentity, Mapping[str, str]]:
    """Processes of this user whose environment holds ``NAME=value``, with their environments; never the caller."""
    found: dict[ProcessIdentity, Mapping[str, str]] = {}
    for folder in _PROC.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            entries = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # gone meanwhile, or another user's
            continue
        identity = identify(int(folder.name)) if mark in entries else None
        if identity is not None:
            found[identity] = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    return found


def end(processes: Iterable[ProcessIdentity], *, patience_seconds: float) -> None:
    """Ask processes to end, and kill those that still run after a while; returns when none is left."""
    left = [process for process in processes if _signal(process, signal.SIGTERM)]
    deadline = time.monotonic() + patience_seconds
    while left and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        left = [process for process in left if process.alive]
    for process in left:
        _signal(process, signal.SIGKILL)
    while any(process.alive for process in left):
        time.sleep(_POLL_SECONDS)


def _signal(process: ProcessIdentity, number: signal.Signals) -> bool:
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        # Looked at after it was opened: whatever takes the number over later, the descriptor stays with this one.
        if not process.alive:
            return False
        signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
