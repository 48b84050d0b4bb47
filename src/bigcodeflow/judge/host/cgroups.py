"""Control groups of one worker: the kernel counts and limits memory and processes of a sample.

A group is made once for a slot and serves one sample after the other. Groups are an additional defence: their limits
are above the limits that apply on every machine, so no verdict depends on groups. If the kernel refuses a limit, the
worker logs a warning, and the group lacks that limit.

Version 2 is used if its memory and pids controllers are available in children or siblings of this process's group.
Siblings count because a group that holds processes cannot pass controllers on. Otherwise version 1 is used, with the
controllers that the machine has.
"""

import itertools
import logging
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.machine import pid_namespace, start_of

logger = logging.getLogger(__name__)

_PREFIX = "bigcodeflow"
_SLACK_MIB = 64  # memory of the kernel itself for a sample: pipes, page tables, sockets
_SLACK_PROCESSES = 8  # processes of the sandbox itself
_SECONDS_TO_END = 5.0
_STEP_SECONDS = 0.002
_V1_CONTROLLERS = ("memory", "pids", "cpuacct")
_COUNTERS = {
    1: (("cpuacct", "cpuacct.usage", "", 1e-9), ("memory", "memory.oom_control", "oom_kill", 1)),
    2: (("", "cpu.stat", "usage_usec", 1e-6), ("memory", "memory.events", "oom_kill", 1)),
}
"""Version → for each GroupUsage field: controller, file, word before the number (may be empty), seconds per unit."""


class GroupUsage(NamedTuple):
    """Usage of a control group since the last call of `SlotGroup.begin`."""

    cpu_seconds: float | None
    """CPU time of all processes, including ended processes without a wait(); None if the kernel does not count it."""
    oom_kills: int
    """Number of processes that the kernel killed because the group reached its memory limit."""


@dataclass(frozen=True, slots=True)
class CgroupDir:
    """Folders in which control groups are made: one folder for each controller, or in version 2 a common folder."""

    version: int
    folders: Mapping[str, Path]
    """Controller → folder in which groups are made; in version 2, '' is the key for files that need no controller."""

    @property
    def description(self) -> str:
        return f"cgroup v{self.version}: {', '.join(name for name in self.folders if name)}"


class SlotGroup:
    """Control group that limits one sample at a time and is reused for later samples; not thread-safe."""

    def __init__(self, parent: CgroupDir, name: str, limits: LimitsConfig) -> None:
        """Make the group, or use the existing group of that name."""
        self._version = parent.version
        self._folders = {controller: folder / name for controller, folder in parent.folders.items()}
        self._distinct = tuple(dict.fromkeys(self._folders.values()))
        self._processes = str(limits.processes + _SLACK_PROCESSES)
        self._base = GroupUsage(0.0, 0)
        with ExitStack() as undo:
            for folder in self._distinct:
                folder.mkdir(exist_ok=True)
                undo.callback(folder.rmdir)
            undo.pop_all()
        # Two full temporary file systems and the largest allowed memory of the processes together are no breach yet.
        memory_bytes = str((limits.memory_mib + 2 * limits.disk_mib + _SLACK_MIB) << 20)
        if self._version == 1:
            # Limit memory first: the kernel refuses a limit of memory plus swap that is below the memory limit.
            self._limit("memory", "memory.limit_in_bytes", memory_bytes)
            self._limit("memory", "memory.memsw.limit_in_bytes", memory_bytes)
        else:
            self._limit("memory", "memory.max", memory_bytes)
            self._limit("memory", "memory.swap.max", "0")
        self._limit("pids", "pids.max", self._processes)

    @classmethod
    def create(cls, slot: str, limits: LimitsConfig) -> Self | None:
        """Remove groups of ended workers; then make and return a group named ``slot``, or None if that is impossible.

        ``slot`` must differ from the names of this process's other groups. The group limits the number of processes,
        and the sum of memory and temporary files.
        """
        parent = find_cgroup_dir()
        if parent is None:
            return None
        # Ids are unique within a PID namespace, but reused: the start time identifies the owner.
        mine = f"{_PREFIX}-{pid_namespace()}-"
        for folder in dict.fromkeys(parent.folders.values()):
            for group in folder.glob(f"{mine}*"):
                pid, _, rest = group.name.removeprefix(mine).partition("-")
                if pid.isdecimal() and start_of(int(pid)) != rest.partition("-")[0]:
                    _remove(group)  # its sandboxes ended with their owner, so it is empty
        try:
            return cls(parent, f"{mine}{os.getpid()}-{start_of(os.getpid())}-{slot}", limits)
        except OSError as error:
            logger.warning("no control group for slot %s (%s): its samples run without a group", slot, error)
            return None

    @property
    def entries(self) -> tuple[str, ...]:
        """Paths of the group's cgroup.procs files: a process that writes 0 to each file enters the group."""
        return tuple(str(folder / "cgroup.procs") for folder in self._distinct)

    def enter(self, pid: int) -> bool:
        """Move a process, without its present children, into the group; return False if the kernel refuses."""
        refused = [folder for folder in self._distinct if not _write(folder / "cgroup.procs", str(pid))]
        return not refused

    def begin(self) -> None:
        self._base = self._counted()

    def usage(self) -> GroupUsage:
        now, base = self._counted(), self._base
        is_counted = now.cpu_seconds is not None and base.cpu_seconds is not None
        cpu_seconds = (now.cpu_seconds or 0.0) - (base.cpu_seconds or 0.0) if is_counted else None
        return GroupUsage(cpu_seconds, now.oom_kills - base.oom_kills)

    def pids(self) -> set[int]:
        """Return the ids of the group's processes in this PID namespace; 0 means a process outside this namespace."""
        found: set[int] = set()
        for folder in self._distinct:
            with suppress(OSError, ValueError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text(encoding="utf-8").split()}
        return found

    def kill_all(self) -> bool:
        """Kill every process of the group; return True, or False if a process still exists after five seconds."""
        if not self.pids():
            return True
        switch = self._distinct[0] / "cgroup.kill"
        at_once = switch.exists() and _write(switch, "1")
        if not at_once:
            self._limit("pids", "pids.max", "0")  # so that nothing forks faster than it can be killed
        give_up_at = time.monotonic() + _SECONDS_TO_END
        while (pids := self.pids()) and time.monotonic() < give_up_at:
            for pid in () if at_once else pids:
                with suppress(OSError):
                    # The id may belong to another process by now; the descriptor always refers to the same process.
                    descriptor = os.pidfd_open(pid)
                    try:
                        if pid in self.pids():
                            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    finally:
                        os.close(descriptor)
            time.sleep(_STEP_SECONDS)
        if not at_once:
            self._limit("pids", "pids.max", self._processes)
        return not pids

    def close(self) -> None:
        self.kill_all()
        for folder in self._distinct:
            give_up_at = time.monotonic() + _SECONDS_TO_END
            while not _remove(folder) and time.monotonic() < give_up_at:
                time.sleep(_STEP_SECONDS)  # the kernel releases a group a moment after its last process

    def _limit(self, controller: str, file: str, value: str) -> None:
        folder = self._folders.get(controller)
        if folder and (folder / file).exists():  # a kernel without swap accounting lacks the swap files
            _write(folder / file, value)

    def _counted(self) -> GroupUsage:
        counts: list[float | None] = []
        for controller, file, key, unit in _COUNTERS[self._version]:
            counts.append(None)
            with suppress(OSError, ValueError, IndexError, KeyError, StopIteration):
                lines = (self._folders[controller] / file).read_text(encoding="utf-8").splitlines()
                words = next(words for words in map(str.split, lines) if not key or words[0] == key)
                counts[-1] = int(words[-1]) * unit
        return GroupUsage(counts[0], int(counts[1] or 0))


class SlotGroupPool:
    """Pool of a worker's control groups, each lent to one sample at a time; empty on a machine without such groups."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._free: list[SlotGroup] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._unavailable = False

    def take(self) -> SlotGroup | None:
        """Return a free or new group, whose usage counts from this call on; None if this machine allows no groups."""
        with self._lock:
            if self._unavailable:
                return None
            group = self._free.pop() if self._free else None
        group = group or SlotGroup.create(f"{id(self):x}-{next(self._numbers)}", self._limits)
        if group is None:
            self._unavailable = True
        else:
            group.begin()
        return group

    def give(self, group: SlotGroup) -> None:
        """Take back a group whose sample has ended, and kill its remaining processes."""
        group.kill_all()
        with self._lock:
            self._free.append(group)

    def close(self) -> None:
        with self._lock:
            groups, self._free = self._free, []
        for group in groups:
            group.close()


def find_cgroup_dir(
    groups_file: Path = Path("/proc/self/cgroup"), mounts_file: Path = Path("/proc/self/mountinfo")
) -> CgroupDir | None:
    """Return the folders, preferably of version 2, in which this process may make groups; None if none exist."""
    try:
        hierarchies = _hierarchies(groups_file.read_text(encoding="utf-8"), mounts_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        logger.warning("control groups cannot be looked up (%s): samples run without control groups", error)
        return None
    for folder, mount_point in hierarchies[""]:
        beside = folder.parent
        # Use a sibling of the own group only if the parent was delegated to us: its other groups have other owners.
        is_ours = folder != mount_point and (beside == mount_point or _is_delegated(beside))
        for parent in (folder, beside) if is_ours else (folder,):
            with suppress(OSError):
                enabled = (parent / "cgroup.subtree_control").read_text(encoding="utf-8").split()
                is_writable = os.access(parent, os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK)
                if is_writable and {"memory", "pids"} <= set(enabled):
                    return CgroupDir(2, dict.fromkeys(("", "memory", "pids"), parent))
    folders = {
        controller: folder
        for controller in _V1_CONTROLLERS
        for folder, _ in hierarchies[controller]
        if os.access(folder, os.W_OK) and (folder / "cgroup.procs").exists()
    }
    return CgroupDir(1, folders) if folders else None


def _hierarchies(groups: str, mounts: str) -> Mapping[str, list[tuple[Path, Path]]]:
    """Return controller ('' for version 2) → a pair for each mount: folder of this process's group, and mount point."""
    own: dict[str, str] = {}
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), group)
    found: dict[str, list[tuple[Path, Path]]] = defaultdict(list)
    for line in mounts.splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            _, _, _, shown, point, *_ = front.split()  # `shown` is the group that the mount point shows
            for controller in own.keys() & ({""} if kind == "cgroup2" else set(options.split(",")) - {""}):
                group = own[controller]
                inside = group.removeprefix(shown.rstrip("/")) if group.startswith(shown) else ""
                found[controller].append((Path(point) / inside.lstrip("/"), Path(point)))
    return found


def _is_delegated(folder: Path) -> bool:
    """Return True if systemd delegated the group to its processes, so that these may make subgroups."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _remove(group: Path) -> bool:
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def _write(path: Path, value: str) -> bool:
    try:
        path.write_text(value, encoding="utf-8")
    except OSError as error:
        if not isinstance(error, ProcessLookupError):  # a process may have ended meanwhile
            logger.warning("control group file %s refuses value %s (%s): a limit is missing", path, value, error)
        return False
    return True
