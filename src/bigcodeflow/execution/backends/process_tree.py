"""CPU time and resident memory of a process with all its descendants, read from /proc."""

import os
from contextlib import suppress
from typing import NamedTuple

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
# Positions after the command name in /proc/PID/stat: utime, stime, cutime, cstime (proc(5), fields 14 to 17), rss (24).
_CPU_FIELDS = slice(11, 15)
_RSS_FIELD = 21


class Usage(NamedTuple):
    """What a process tree has used so far, its ended and waited-for children included in the CPU time."""

    cpu_seconds: float
    rss_mib: float


def usage_of_tree(root_pid: int) -> Usage:
    """Sum over the process and its descendants; processes that end meanwhile count as they were or not at all."""
    ticks, pages = 0, 0
    pending = [root_pid]
    while pending:
        pid = pending.pop()
        with suppress(OSError, ValueError, IndexError):
            fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[_CPU_FIELDS])
            pages += int(fields[_RSS_FIELD])
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- Path objects double the cost here
                pending.extend(int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split())
    return Usage(ticks / _TICKS_PER_SECOND, pages * _PAGE_MIB)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 -- likewise
        return file.read()
