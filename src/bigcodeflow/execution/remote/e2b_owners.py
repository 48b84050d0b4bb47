"""Whose a sandbox is: told in its metadata, so that what a killed run left can be found and ended."""

import logging
import os
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

from e2b import Sandbox, SandboxQuery
from e2b.sandbox.sandbox_api import SandboxInfo

from bigcodeflow.execution.remote.e2b_faults import FAULTS, told
from bigcodeflow.execution.remote.transports import HostRefusedError

logger = logging.getLogger(__name__)

_MACHINE, _OWNER, _RUN, _HOST = "bigcodeflow_machine", "bigcodeflow_owner", "bigcodeflow_run", "bigcodeflow_host"
_START_TIME_FIELD = 19  # of /proc/PID/stat after the command's name: starttime, proc(5) field 22


def own_metadata() -> dict[str, str]:
    """What the sandboxes of this process are known by."""
    pid = os.getpid()
    return {
        _MACHINE: _machine(),
        _OWNER: f"{pid}-{_start_time(pid)}",
        _RUN: uuid.uuid4().hex,
        _HOST: socket.gethostname(),
    }


def remove_orphans() -> int:
    """Kill the sandboxes of this machine's processes that are gone; those of other machines end by their time-out.

    Returns:
        How many there were.

    Raises:
        HostRefusedError: the key is not accepted.
    """
    removed = 0
    try:
        left = [one for one in _of_this_machine() if not _lives(one.metadata.get(_OWNER, ""))]
        for sandbox in left:  # all are known before one goes: a page may be counted from the first
            removed += Sandbox.kill(sandbox.sandbox_id)
    except FAULTS as error:
        refusal = told(error)
        if isinstance(refusal, HostRefusedError):
            raise refusal from error
        logger.warning("sandboxes that an earlier run left in E2B could not be looked for: %s", refusal)
    if removed:
        logger.info("ended %d sandboxes that an earlier run left in E2B", removed)
    return removed


def _of_this_machine() -> Iterator[SandboxInfo]:
    """Running and paused ones."""
    pages = Sandbox.list(query=SandboxQuery(metadata={_MACHINE: _machine()}))
    while pages.has_next:
        yield from pages.next_items()


def _machine() -> str:
    """This boot of this machine and this container: process ids mean nothing beyond."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"


def _lives(owner: str) -> bool:
    pid, _, start = owner.partition("-")
    return pid.isdecimal() and start != "" and _start_time(int(pid)) == start


def _start_time(pid: int) -> str:
    """When a process started, in ticks since the machine did; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[_START_TIME_FIELD]
    except (OSError, IndexError):
        return ""
