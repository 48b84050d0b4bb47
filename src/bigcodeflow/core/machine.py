"""Differences between Linux, which runs sandboxes, and other systems, which use the sandboxes of another machine."""

import os
from pathlib import Path

import psutil


def usable_cores() -> int:
    """Return the number of cores that this process may use; all cores if the system has no CPU affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def boot_id() -> str:
    """Return an id of the machine's current boot; process id and start time identify a process only within one boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return f"{psutil.boot_time():.0f}"


def pid_namespace() -> str:
    """Return an id of this process's PID namespace; empty if the system has no PID namespaces."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def start_of(pid: int) -> str:
    """Return the start time of a process, in the system's own unit; empty if the process is gone."""
    try:
        if Path("/proc/self/stat").exists():
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            return stat.rpartition(")")[2].split()[19]  # starttime, proc(5) field 22: two come before the bracket
        return f"{psutil.Process(pid).create_time():.3f}"
    except (OSError, psutil.Error):
        return ""
