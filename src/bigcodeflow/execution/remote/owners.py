"""Which process started a container or a cloud sandbox, so that what killed runs left behind can be removed."""

import os
from pathlib import Path

_START_TIME_FIELD = 19  # of /proc/PID/stat after the command's name: starttime, proc(5) field 22


def machine_id() -> str:
    """This boot of this machine and this pid namespace: process ids mean nothing beyond."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"


def process_id(pid: int | None = None) -> str:
    """A process, by default this one, among all that ever ran on this machine; empty for one that is gone."""
    pid = pid or os.getpid()
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    return f"{pid}-{stat.rpartition(')')[2].split()[_START_TIME_FIELD]}"


def is_orphan(machine: str, process: str) -> bool:
    """Whether the owner was a process of this machine that is gone; of others nothing is known here."""
    pid = process.partition("-")[0]
    return machine == machine_id() and pid.isdecimal() and process_id(int(pid)) != process
