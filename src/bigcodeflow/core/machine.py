"""What differs between Linux, on which sandboxes run, and other systems, which use those of another machine."""

import os
from pathlib import Path

import psutil


def usable_cores() -> int:
    """Cores that this process may use; all of them where the system does not bind processes to cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def boot_id() -> str:
    """Identity of this boot of the machine, within which process ids and their start times are unique."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return f"{psutil.boot_time():.0f}"


def pid_namespace() -> str:
    """Identity of the namespace of process ids; empty where the system has one alone."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def start_of(pid: int) -> str:
    """When a process started, in the system's own unit; empty for one that is gone."""
    try:
        if Path("/proc/self/stat").exists():
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            return stat.rpartition(")")[2].split()[19]  # starttime, proc(5) field 22: two come before the bracket
        return f"{psutil.Process(pid).create_time():.3f}"
    except (OSError, psutil.Error):
        return ""
