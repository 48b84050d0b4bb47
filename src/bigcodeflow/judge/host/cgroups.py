"""Control groups of one worker: the kernel counts and limits memory and processes of a sample.

A group is made once for a slot and serves one sample after the other. It is an addition: its limits are above the
limits that apply everywhere, so that no verdict depends on whether a machine allows groups. If a group's file refuses
a value, this is logged, and the limit is missing.

Version 2 is used if its memory and pids controllers are available in a child of the own group or, because a group
that holds processes cannot pass controllers on, in a sibling; else version 1, with the controllers that it has.
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
"""Version → for each field of GroupUsage: controller, file, word before the number (empty: no word), and unit."""


class GroupUsage(NamedTuple):
    """Usage of a group since its last begin()."""

    cpu_seconds: float | None
    """CPU time of all processes, also of ended processes without a wait(); None if the kernel does not count it."""
    oom_kills: int
    """Processes that the kernel killed at the memory limit."""


@dataclass(frozen=True, slots=True)
class CgroupDir:
    """Parent of new groups: a folder for each controller; in version 2 the same folder for all."""

    version: int
    folders: Mapping[str, Path]
    """Controller → parent group of new groups; the empty name means the files that every v2 group has."""

    @property
    def description(self) -> str:
        return f"cgroup v{self.version}: {', '.join(name for name in self.folders if name)}"


class SlotGroup:
    """The control group of one slot; used by one thread at a time."""

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
        """Make a group for a slot of this process, or return None if impossible; remove groups of ended processes.

        ``slot`` is a name that no other slot of this process has. The group limits processes, and the sum of memory and
        temporary files.
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
            logger.warning("no control group for slot %s (%s): its samples run without one", slot, error)
            return None

    @property
    def entries(self) -> tuple[str, ...]:
        """Files to which a process writes 0 to enter the group; its later children start in the group."""
        return tuple(str(folder / "cgroup.procs") for folder in self._distinct)

    def enter(self, pid: int) -> bool:
        """Move a process into the group, best before it starts others; return False if the kernel refuses."""
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
        """Return the process ids of the group in this process's namespace; 0 means a process that it cannot see."""
        found: set[int] = set()
        for folder in self._distinct:
            with suppress(OSError, ValueError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text(encoding="utf-8").split()}
        return found

    def kill_all(self) -> bool:
        """Kill every process of the group; return False if some still exist after five seconds."""
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
    """Groups of one worker, each lent to one sample at a time; empty on a machine without control groups."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._free: list[SlotGroup] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._unavailable = False

    def take(self) -> SlotGroup | None:
        """Return a group that counts from now, or None if the sample must run without a group."""
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
    """Return the place where this process may make groups, version 2 first, or None. Files: cgroups(7), proc(5)."""
    try:
        hierarchies = _hierarchies(groups_file.read_text(encoding="utf-8"), mounts_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        logger.warning("control groups cannot be looked up (%s): samples run without them", error)
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
    """Return controller → (own group's folder, mount point) for each hierarchy with it; the empty name: version 2."""
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
    """Tell if systemd delegated the group, so that its processes may divide it."""
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
            logger.warning("control group file %s does not take %s (%s): a limit is missing", path, value, error)
        return False
    return True
