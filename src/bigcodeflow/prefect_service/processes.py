"""Processes that outlive the command which started them: started, recognized, and ended without hitting a stranger."""

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

from bigcodeflow.core.machine import boot_id

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process, identified so that another one that gets its id later is not taken for it."""

    pid: int
    started: str
    """Boot id and clock ticks since that boot, which no change of the clock moves."""

    @property
    def alive(self) -> bool:
        """Whether it still runs; a process that only waits to be reaped does not."""
        return identify(self.pid) == self


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this id now; None where none runs."""
    try:
        process = psutil.Process(pid)
        if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
            return None
        ticks = round((process.create_time() - psutil.boot_time()) * os.sysconf("SC_CLK_TCK"))
    except psutil.Error:
        return None
    return ProcessIdentity(pid, f"{boot_id()}:{ticks}")


def start(command: Sequence[str], *, folder: Path, log: Path, environment: Mapping[str, str]) -> ProcessIdentity | None:
    """Start a command in a session of its own, so that no terminal takes it along; None if it ended at once."""
    with log.open("ab") as output:
        process = Popen(
            command, cwd=folder, env=environment, stdin=DEVNULL, stdout=output, stderr=STDOUT, start_new_session=True
        )
    # Reaps it, should it end before this command does.
    threading.Thread(target=process.wait, daemon=True).start()
    return identify(process.pid)


def marked(variable: str, value: str) -> dict[ProcessIdentity, Mapping[str, str]]:
    """Processes of this user, but the caller, whose environment has the variable, with their environments."""
    found: dict[ProcessIdentity, Mapping[str, str]] = {}
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            environment = process.environ()
        except psutil.Error:  # gone meanwhile, or another user's
            continue
        if environment.get(variable) == value and (identity := identify(process.pid)) is not None:
            found[identity] = environment
    return found


def end(processes: Iterable[ProcessIdentity], *, patience_seconds: float = 20.0) -> None:
    """Ask processes to end, and kill those that still run after a while; returns when none is left."""
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
        # Compared after the object was made: psutil signals no process that takes the number over later.
        if identity.alive:
            process.send_signal(number)
            return True
    return False
