"""Start, recognize and end processes that outlive the command which started them; never end any other process."""

import os
import signal
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen

import psutil

from bigcodeflow.core.machine import boot_id, start_of

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Identity of a process; another process that gets the same id later has a different identity."""

    pid: int
    started: str
    """Boot id and start time since boot; changes of the system clock do not affect it."""

    @property
    def alive(self) -> bool:
        """True if the process still runs; a zombie process counts as ended."""
        return identify(self.pid) == self


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of the process that currently has this id; None if no such process runs."""
    with suppress(psutil.Error):
        if psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD} and (
            started := start_of(pid)
        ):
            return ProcessIdentity(pid, f"{boot_id()}:{started}")
    return None


def start(command: Sequence[str], *, folder: Path, log: Path, environment: Mapping[str, str]) -> ProcessIdentity | None:
    """Start a command in a new session, so that it survives the terminal; return None if the command ended at once."""
    with log.open("ab") as output:
        process = Popen(
            command, cwd=folder, env=environment, stdin=DEVNULL, stdout=output, stderr=STDOUT, start_new_session=True
        )
    # Reaps the process if it ends before this command does.
    threading.Thread(target=process.wait, daemon=True).start()
    return identify(process.pid)


def marked(variable: str, value: str) -> dict[ProcessIdentity, Mapping[str, str]]:
    """Return the user's other processes in which ``variable`` has this value, with their environment variables."""
    found: dict[ProcessIdentity, Mapping[str, str]] = {}
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            environment = process.environ()
        except psutil.Error:  # the process ended meanwhile, or belongs to another user
            continue
        if environment.get(variable) == value and (identity := identify(process.pid)) is not None:
            found[identity] = environment
    return found


def end(processes: Iterable[ProcessIdentity], *, patience_seconds: float = 20.0) -> None:
    """Send SIGTERM to processes, and SIGKILL to those that run after `patience_seconds`; return when all have ended."""
    left = [process for process in processes if _signal(process, signal.SIGTERM)]
    deadline = time.monotonic() + patience_seconds
    while left := [process for process in left if process.alive]:
        if time.monotonic() >= deadline:
            for process in left:
                _signal(process, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _signal(identity: ProcessIdentity, number: signal.Signals) -> bool:
    with suppress(psutil.Error):
        process = psutil.Process(identity.pid)
        # Compare after creating the object: psutil does not signal a process that reuses the id later.
        if identity.alive:
            process.send_signal(number)
            return True
    return False
