"""Control groups of one worker: what samples may hold and start together, counted and bounded by the kernel.

A group is made once for a slot and serves one sample after the other. It is an addition: its limits lie above those
that hold everywhere, so that no verdict depends on whether a machine lets us have groups, and whatever a group's
file refuses is logged and done without.

Version 2 is taken where its memory and pids controllers can be had in a group below the own one, or, because a
group that holds processes cannot hand controllers on, beside it; else version 1, as far as its controllers go.
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

logger = logging.getLogger(__name__)

_PREFIX = "bigcodeflow"
_SLACK_MIB = 64  # what the kernel itself holds for a sample: pipes, page tables, sockets
_SLACK_PROCESSES = 8  # the sandbox's own
_SECONDS_TO_END = 5.0
_STEP_SECONDS = 0.002
_START_TIME_FIELD = 19  # of /proc/PID/stat after the command's name: starttime, proc(5) field 22
_V1_CONTROLLERS = ("memory", "pids", "cpuacct")
_COUNTERS = {
    1: (("cpuacct", "cpuacct.usage", "", 1e-9), ("memory", "memory.oom_control", "oom_kill", 1)),
    2: (("", "cpu.stat", "usage_usec", 1e-6), ("memory", "memory.events", "oom_kill", 1)),
}
"""Version → for each field of GroupUsage controller, file, word before the number (empty: it is all), and unit."""


class GroupUsage(NamedTuple):
    """What a group has used since its last begin()."""

    cpu_seconds: float | None
    """Of all processes, also ended ones that nobody waited for; None where the kernel does not count it."""
    oom_kills: int
    """Processes that the kernel killed at the memory limit."""


@dataclass(frozen=True, slots=True)
class CgroupDir:
    """Where groups can be made: a folder for each controller; version 2 has one for all."""

    version: int
    folders: Mapping[str, Path]
    """Controller → the group below which groups are made; the empty name stands for what every v2 group has."""

    @property
    def description(self) -> str:
        return f"cgroup v{self.version}: {', '.join(name for name in self.folders if name)}"


class SlotGroup:
    """The control group of one slot; used by one thread at a time."""

    def __init__(self, parent: CgroupDir, name: str, limits: LimitsConfig) -> None:
        """Make the group, or take the one of that name."""
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
        # Both temporary file systems may be full while the processes hold all that they may: that is no breach yet.
        memory_bytes = str((limits.memory_mib + 2 * limits.disk_mib + _SLACK_MIB) << 20)
        if self._version == 1:
            # Memory alone comes first: the kernel refuses a sum of memory and swap that is smaller than memory.
            self._limit("memory", "memory.limit_in_bytes", memory_bytes)
            self._limit("memory", "memory.memsw.limit_in_bytes", memory_bytes)
        else:
            self._limit("memory", "memory.max", memory_bytes)
            self._limit("memory", "memory.swap.max", "0")
        self._limit("pids", "pids.max", self._processes)

    @classmethod
    def create(cls, slot: str, limits: LimitsConfig) -> Self | None:
        """A group for a slot of this process, or None where groups cannot be had; removes those of ended processes.

        ``slot`` is a name that no other slot of this process has. The group bounds processes, and memory and temporary
        files together.
        """
        parent = find_cgroup_dir()
        if parent is None:
            return None
        # Ids are unique within a PID namespace, and reused: the owner's start time tells one from the next.
        mine = f"{_PREFIX}-{Path('/proc/self/ns/pid').stat().st_ino}-"
        for folder in dict.fromkeys(parent.folders.values()):
            for group in folder.glob(f"{mine}*"):
                pid, _, rest = group.name.removeprefix(mine).partition("-")
                if pid.isdecimal() and _start_time(int(pid)) != rest.partition("-")[0]:
                    _remove(group)  # its sandboxes ended with their owner, so it is empty
        try:
            return cls(parent, f"{mine}{os.getpid()}-{_start_time(os.getpid())}-{slot}", limits)
        except OSError as error:
            logger.warning("no control group for slot %s (%s): its samples run without one", slot, error)
            return None

    @property
    def entries(self) -> tuple[str, ...]:
        """Files that a process writes 0 to in order to enter; what it starts afterwards is in the group from birth."""
        return tuple(str(folder / "cgroup.procs") for folder in self._distinct)

    def enter(self, pid: int) -> bool:
        """Put a process into the group, best before it starts others; false where the kernel refuses."""
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
        """Processes of the group, as this process numbers them; 0 stands for those that it cannot see."""
        found: set[int] = set()
        for folder in self._distinct:
            with suppress(OSError, ValueError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text(encoding="utf-8").split()}
        return found

    def kill_all(self) -> bool:
        """End every process of the group; false if some are still there after five seconds."""
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
                    # The number may belong to another process by now; the descriptor keeps the one that is looked at.
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
                time.sleep(_STEP_SECONDS)  # the kernel lets go of a group a moment after its last process

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
    """The groups of one worker, lent to one sample at a time; without control groups there is never one to take."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._free: list[SlotGroup] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._unavailable = False

    def take(self) -> SlotGroup | None:
        """A group that counts from now; None: the sample does without."""
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
        """Hand a group back when its sample has ended."""
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
    """Where this process may make groups, version 2 before 1; None: nowhere. Files as in cgroups(7), proc(5)."""
    try:
        hierarchies = _hierarchies(groups_file.read_text(encoding="utf-8"), mounts_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        logger.warning("control groups cannot be looked up (%s): samples run without them", error)
        return None
    for folder, mount_point in hierarchies[""]:
        beside = folder.parent
        # Beside the own group only where that place was given to us: other groups there have other masters.
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
    """Controller → the own group's folder in each hierarchy with it, and the mount point; empty: version 2."""
    own: dict[str, str] = {}
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), group)
    found: dict[str, list[tuple[Path, Path]]] = defaultdict(list)
    for line in mounts.splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            _, _, _, shown, point, *_ = front.split()  # `shown` is the group that the mount point stands for
            for controller in own.keys() & ({""} if kind == "cgroup2" else set(options.split(",")) - {""}):
                group = own[controller]
                inside = group.removeprefix(shown.rstrip("/")) if group.startswith(shown) else ""
                found[controller].append((Path(point) / inside.lstrip("/"), Path(point)))
    return found


def _is_delegated(folder: Path) -> bool:
    """Whether systemd marked the group as one that its processes may divide."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _start_time(pid: int) -> str:
    """When a process started, in ticks since the machine did; empty for one that is gone."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return status.rpartition(")")[2].split()[_START_TIME_FIELD]
    return ""


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
