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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from bigcodeflow.config import LimitsConfig

logger = logging.getLogger(__name__)

_PREFIX = "bigcodeflow"
_SLACK_MIB = 64
"""What the kernel itself holds for a sample: pipes, page tables, sockets."""
_SLACK_PROCESSES = 8
"""The sandbox's own processes."""
_SECONDS_TO_END = 5.0
_STEP_SECONDS = 0.002
_START_TIME_FIELD = 19  # of /proc/PID/stat after the command's name: starttime, proc(5) field 22
_V1_CONTROLLERS = ("memory", "pids", "cpuacct")


class GroupUsage(NamedTuple):
    """What a group has used since its last begin()."""

    cpu_seconds: float | None
    """Of all processes, also ended ones that nobody waited for; None where the kernel does not count it."""
    oom_kills: int
    """Processes that the kernel killed at the memory limit."""


class _Counter(NamedTuple):
    controller: str
    file: str
    key: str
    """Word that the counter's line starts with; empty for a file that holds one number."""
    unit: float


_COUNTERS = {
    1: (_Counter("cpuacct", "cpuacct.usage", "", 1e-9), _Counter("memory", "memory.oom_control", "oom_kill", 1)),
    2: (_Counter("", "cpu.stat", "usage_usec", 1e-6), _Counter("memory", "memory.events", "oom_kill", 1)),
}
"""Version → the counters of GroupUsage's fields."""
_MEMORY_FILES = {
    # Memory alone comes first: the kernel refuses a sum of memory and swap that is smaller than memory.
    1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    2: ("memory.max",),
}


@dataclass(frozen=True, slots=True)
class CgroupDir:
    """Where groups can be made: a folder for each controller; version 2 has one for all."""

    version: int
    folders: Mapping[str, Path]
    """Controller → the group below which groups are made; the empty name stands for what every v2 group has."""

    @property
    def description(self) -> str:
        """For people, such as 'cgroup v1: memory, pids, cpuacct'."""
        return f"cgroup v{self.version}: {', '.join(name for name in self.folders if name)}"


class SlotGroup:
    """The control group of one slot; used by one thread at a time."""

    def __init__(self, parent: CgroupDir, name: str, limits: LimitsConfig) -> None:
        """Make the group, or take the one of that name.

        Raises:
            OSError: it cannot be made.
        """
        self._version = parent.version
        self._folders = {controller: folder / name for controller, folder in parent.folders.items()}
        self._distinct = tuple(dict.fromkeys(self._folders.values()))
        self._processes = str(limits.processes + _SLACK_PROCESSES)
        self._base = GroupUsage(0.0, 0)
        made = []
        try:
            for folder in self._distinct:
                folder.mkdir(exist_ok=True)
                made.append(folder)
        except OSError:
            for folder in made:
                folder.rmdir()
            raise
        # Both temporary file systems may be full while the processes hold all that they may: that is no breach yet.
        memory_mib = limits.memory_mib + 2 * limits.disk_mib + _SLACK_MIB
        for file in _MEMORY_FILES[self._version]:
            self._limit("memory", file, str(memory_mib << 20))
        if self._version != 1:
            self._limit("memory", "memory.swap.max", "0")
        self._limit("pids", "pids.max", self._processes)

    @classmethod
    def create(cls, slot: str, limits: LimitsConfig) -> Self | None:
        """A group for a slot of this process, or None where groups cannot be had; removes those of ended processes.

        Args:
            slot: name that no other slot of this process has.
            limits: the group bounds memory and temporary files together, and processes.
        """
        parent = find_cgroup_dir()
        if parent is None:
            return None
        _remove_stale(parent)
        try:
            return cls(parent, f"{_owner_prefix()}{os.getpid()}-{_start_time(os.getpid())}-{slot}", limits)
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
        """Count from here."""
        self._base = self._counted()

    def usage(self) -> GroupUsage:
        """What was used since begin()."""
        now, base = self._counted(), self._base
        cpu_seconds = None
        if now.cpu_seconds is not None and base.cpu_seconds is not None:
            cpu_seconds = now.cpu_seconds - base.cpu_seconds
        return GroupUsage(cpu_seconds, now.oom_kills - base.oom_kills)

    def pids(self) -> set[int]:
        """Processes of the group, as this process numbers them; 0 stands for those that it cannot see."""
        found: set[int] = set()
        for folder in self._distinct:
            with suppress(OSError, ValueError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text().split()}
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
            if not at_once:
                for pid in pids:
                    self._kill(pid)
            time.sleep(_STEP_SECONDS)
        if not at_once:
            self._limit("pids", "pids.max", self._processes)
        return not pids

    def close(self) -> None:
        """End what is left and remove the group."""
        self.kill_all()
        for folder in self._distinct:
            give_up_at = time.monotonic() + _SECONDS_TO_END
            while not _removed(folder) and time.monotonic() < give_up_at:
                time.sleep(_STEP_SECONDS)  # the kernel lets go of a group a moment after its last process

    def _kill(self, pid: int) -> None:
        # The number may belong to another process by now; the descriptor keeps the one that is looked at.
        with suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                if pid in self.pids():
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)

    def _limit(self, controller: str, file: str, value: str) -> None:
        folder = self._folders.get(controller)
        if folder and (folder / file).exists():  # a kernel without swap accounting lacks the swap files
            _write(folder / file, value)

    def _counted(self) -> GroupUsage:
        cpu_seconds, oom_kills = (self._count(counter) for counter in _COUNTERS[self._version])
        return GroupUsage(cpu_seconds, int(oom_kills or 0))

    def _count(self, counter: _Counter) -> float | None:
        folder = self._folders.get(counter.controller)
        if folder is None:
            return None
        with suppress(OSError, ValueError, IndexError):
            text = (folder / counter.file).read_text()
            if not counter.key:
                return int(text) * counter.unit
            return next(
                int(words[1]) * counter.unit for words in map(str.split, text.splitlines()) if words[0] == counter.key
            )
        return None


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
        """Remove the groups."""
        with self._lock:
            groups, self._free = self._free, []
        for group in groups:
            group.close()


def available() -> str:
    """What groups can do here, such as 'cgroup v1: memory, pids, cpuacct'; empty where there are none."""
    parent = find_cgroup_dir()
    return parent.description if parent else ""


def find_cgroup_dir(
    groups_file: Path = Path("/proc/self/cgroup"), mounts_file: Path = Path("/proc/self/mountinfo")
) -> CgroupDir | None:
    """Where this process may make groups, version 2 before version 1; None: nowhere.

    Args:
        groups_file: in the form of /proc/PID/cgroup, cgroups(7).
        mounts_file: in the form of /proc/PID/mountinfo, proc(5).
    """
    try:
        own = dict(_own_groups(groups_file.read_text()))
        mounts = list(_mounts(mounts_file.read_text()))
    except (OSError, ValueError) as error:
        logger.warning("control groups cannot be looked up (%s): samples run without them", error)
        return None
    return _version_2(own, mounts) or _version_1(own, mounts)


class _Mount(NamedTuple):
    """A mounted hierarchy; ``shown`` is the group that its mount point stands for."""

    shown: str
    point: Path
    kind: str
    controllers: frozenset[str]

    def folder_of(self, group: str) -> Path:
        inside = group.removeprefix(self.shown.rstrip("/")) if group.startswith(self.shown) else ""
        return self.point / inside.lstrip("/")


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    """Controller and group; version 2 has the empty controller."""
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group


def _mounts(text: str) -> Iterator[_Mount]:
    for line in text.splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            _, _, _, shown, point, *_ = front.split()
            yield _Mount(shown, Path(point), kind, frozenset(options.split(",")))


def _version_2(own: Mapping[str, str], mounts: Sequence[_Mount]) -> CgroupDir | None:
    for mount in mounts:
        if mount.kind != "cgroup2" or "" not in own:
            continue
        folder = mount.folder_of(own[""])
        beside = folder.parent
        # Beside the own group only where that place was given to us: other groups there have other masters.
        is_ours = folder != mount.point and (beside == mount.point or _is_delegated(beside))
        for parent in (folder, beside) if is_ours else (folder,):
            if _hands_on(parent):
                return CgroupDir(2, dict.fromkeys(("", "memory", "pids"), parent))
    return None


def _hands_on(folder: Path) -> bool:
    try:
        enabled = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return {"memory", "pids"} <= set(enabled) and all(
        os.access(path, os.W_OK) for path in (folder, folder / "cgroup.procs")
    )


def _is_delegated(folder: Path) -> bool:
    """Whether systemd marked the group as one that its processes may divide."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _version_1(own: Mapping[str, str], mounts: Sequence[_Mount]) -> CgroupDir | None:
    folders = {}
    for controller in _V1_CONTROLLERS:
        for mount in mounts:
            if mount.kind == "cgroup" and controller in mount.controllers and controller in own:
                folder = mount.folder_of(own[controller])
                if os.access(folder, os.W_OK) and (folder / "cgroup.procs").exists():
                    folders[controller] = folder
    return CgroupDir(1, folders) if folders else None


def _owner_prefix() -> str:
    """Begin of the names of groups of this PID namespace; the owner's id and start time follow, as ids are reused."""
    return f"{_PREFIX}-{Path('/proc/self/ns/pid').stat().st_ino}-"


def _start_time(pid: int) -> str:
    """When a process started, in ticks since the machine did; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[_START_TIME_FIELD]
    except (OSError, IndexError):
        return ""


def _remove_stale(parent: CgroupDir) -> None:
    """Remove the groups of processes that are gone; their sandboxes ended with them, so the groups are empty."""
    mine = _owner_prefix()
    for folder in dict.fromkeys(parent.folders.values()):
        for group in folder.glob(f"{mine}*"):
            pid, _, rest = group.name.removeprefix(mine).partition("-")
            if pid.isdecimal() and _start_time(int(pid)) != rest.partition("-")[0]:
                _removed(group)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _write(path: Path, value: str) -> bool:
    try:
        path.write_text(value)
    except OSError as error:
        if not isinstance(error, ProcessLookupError):  # a process may have ended meanwhile
            logger.warning("control group file %s does not take %s (%s): a limit is missing", path, value, error)
        return False
    return True
