"""Measure wall and CPU time of a command with all its processes, and the machine's load meanwhile; print tables."""

import json
import os
import resource
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar


class Keyed(Protocol):
    """One measurement to make."""

    @property
    def key(self) -> str:
        """Identity of the measurement, used to recognise a finished one."""


U = TypeVar("U", bound=Keyed)
_SECONDS_TO_EMPTY = 2.0
#: Shell command that moves itself into the control group given first, then executes the command that follows.
_ENTER = ["/bin/sh", "-c", 'echo 0 > "$1/cgroup.procs" && shift && exec "$@"', "sh"]


class Measured(NamedTuple):
    """Cost of one command."""

    exit_code: int
    wall_seconds: float
    cpu_seconds: float
    """CPU of all its processes, however they ended, if control groups are writable; else of those waited for."""
    cpu_source: str
    """'control group' or 'waited children'."""
    load_before: float = 0.0
    """The machine's load average of one minute when the command started."""
    load_after: float = 0.0
    others_cpu_seconds: float = 0.0
    """CPU that other programs of the machine, and its kernel, used meanwhile."""


class _Group:
    """Control group of version 2 for one command, or a placeholder if none can be made."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def enter(self, command: Sequence[str]) -> list[str]:
        return [*_ENTER, str(self.path), *command] if self.path else list(command)

    def cpu_seconds(self) -> float:
        if self.path is None:
            return 0.0
        lines = (line.split() for line in (self.path / "cpu.stat").read_text().splitlines())
        return int(dict(lines)["usage_usec"]) / 1e6  # type: ignore[call-overload]


def table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    cells = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in cells) + "\n"


def measured_once(path: Path, units: Iterable[U], perform: Callable[[U], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the run of every unit, in order; reuse the runs in the file, which has one JSON object per line."""
    lines = path.read_text().splitlines() if path.exists() else []
    finished = {run["key"]: run for run in map(json.loads, lines)}
    runs = []
    for unit in units:
        if unit.key not in finished:
            run = {"key": unit.key} | perform(unit) | {"ended_at": time.strftime("%FT%T")}
            with path.open("a") as file:
                file.write(json.dumps(run) + "\n")
            finished[unit.key] = run
        runs.append(finished[unit.key])
    return runs


def measure(
    command: Sequence[str],
    *,
    log: Path,
    timeout_seconds: float | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Measured:
    """Run a command to its end, with its output in a file; return the cost of it and its descendants.

    Args:
        command: argument vector.
        log: file for standard output and error.
        timeout_seconds: the command is killed after that long.
        cwd: folder in which it runs.
        env: its environment variables, instead of this process's.
    """
    with _group() as group, log.open("wb") as output:
        load, before, busy = os.getloadavg()[0], _waited_seconds(), busy_seconds()
        began = time.monotonic()
        process = subprocess.Popen(
            group.enter(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=cwd,
            env=env,
        )
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout_seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        wall_seconds = time.monotonic() - began
        waited = _waited_seconds() - before
        grouped, busy = group.cpu_seconds(), busy_seconds() - busy
    # A descendant may have moved to another control group: the time of waited children still counts it.
    source = "control group" if grouped >= waited else "waited children"
    used = max(grouped, waited)
    return Measured(code, wall_seconds, used, source, load, os.getloadavg()[0], max(0.0, busy - used))


def busy_seconds() -> float:
    """Return the CPU seconds that all programs and the kernel have used since the machine's start."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split(maxsplit=8)[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _waited_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _group() -> Iterator[_Group]:
    parent = _own_group()
    path = None
    if parent:
        path = parent / f"measure-{uuid.uuid4().hex}"
        try:
            path.mkdir()
        except OSError:
            path = None
    try:
        yield _Group(path)
    finally:
        if path:
            _remove(path)


def _own_group() -> Path | None:
    """Return the folder of this process's control group in the version 2 hierarchy; None if there is none."""
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (root / "cgroup.controllers").exists():
            lines = Path("/proc/self/cgroup").read_text().splitlines()
            own = next((line[3:] for line in lines if line.startswith("0::")), "/")
            return root / own.lstrip("/")
    return None


def _remove(path: Path) -> None:
    with suppress(OSError):
        (path / "cgroup.kill").write_text("1")  # ends processes that the command left behind
    give_up_at = time.monotonic() + _SECONDS_TO_EMPTY
    while path.exists() and time.monotonic() < give_up_at:
        with suppress(OSError):
            path.rmdir()
            return
        time.sleep(0.05)
