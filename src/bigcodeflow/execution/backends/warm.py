"""A sandboxed process that is forked from a zygote into a cell; and the zygotes that one worker keeps."""

import json
import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.descriptors import receive
from bigcodeflow.execution.backends.observation import End
from bigcodeflow.execution.backends.slot_groups import SlotGroups
from bigcodeflow.execution.backends.supervisor import Cell, Supervisor, UnforkableError, WarmthLostError, Zygote, pid_of

if TYPE_CHECKING:
    from bigcodeflow.execution.backends.cgroups import SlotGroup

logger = logging.getLogger(__name__)

_START_SECONDS = 30.0
_MESSAGE_BYTES = 1 << 12
_MOST_ZYGOTES = 48
_LOST = End("signal 9")


class WarmProcess:
    """A sample forked from a zygote."""

    def __init__(self, zygote: Zygote, cell: Cell, groups: SlotGroups) -> None:
        """Fork it.

        Raises:
            WarmthLostError: the zygote did not.
        """
        self._cell, self._groups = cell, groups
        self._group: SlotGroup | None = None
        self._reply, reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel, channel = socket.socketpair()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        self.ended = -1
        try:
            with reply, channel:
                zygote.start_sample([reply.fileno(), channel.fileno(), stdout, stderr, cell.descriptor])
            self.ended = self._started()
            self._pid = pid_of(self.ended)
        except WarmthLostError:
            self.close()
            raise
        finally:
            os.close(stdout)
            os.close(stderr)

    def _started(self) -> int:
        """Descriptor of the new process."""
        self._reply.settimeout(_START_SECONDS)
        _, descriptors = receive(self._reply, _MESSAGE_BYTES)
        if not descriptors:
            raise WarmthLostError("a zygote did not fork its sample")
        return descriptors[0]

    def roots(self) -> Sequence[int]:
        """The sample, and the process that inherits its orphans."""
        return (self._pid, self._cell.pid)

    def kill(self) -> None:
        """End the cell."""
        self._cell.kill()

    def end(self) -> End:
        """Wait for the zygote's account and for the end of the cell; a zygote that died or hangs gives none."""
        told, _ = receive(self._reply, _MESSAGE_BYTES)
        self._cell.kill()
        if not self._cell.wait_until_empty():
            logger.warning("a sandbox does not end; its processes are in an uninterruptible state")
        if not told:
            return _LOST
        answer = json.loads(told)
        code = os.waitstatus_to_exitcode(answer["status"])
        return End(f"exit {code if code >= 0 else 128 - code}", answer["cpu_seconds"], answer["max_rss_mib"])

    def restrain(self, pids: Iterable[int]) -> None:
        """Put a sample that does not end at once into a control group: entering takes longer than most samples run."""
        if self._group is None and (group := self._groups.take()):
            self._group = group
            for pid in pids:
                group.enter(pid)

    def oom_kills(self) -> int:
        """Processes that the kernel killed at the group's limit of memory."""
        return self._group.usage().oom_kills if self._group else 0

    def close(self) -> None:
        """End what runs, and give everything back."""
        self.kill()
        if self._group:
            self._groups.give(self._group)
            self._group = None
        self._reply.close()
        self.channel.close()
        for descriptor in (self.stdout, self.stderr, self.ended):
            if descriptor >= 0:  # a sample that was not forked has no end
                os.close(descriptor)


class _Kept:
    """A zygote on its way from wanted to there, and how many samples are being forked from it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.zygote: Zygote | None = None
        self.users = 0
        self.last_use = 0


class WarmSandbox:
    """A supervisor with its zygotes, made as they are asked for; used by all threads of a worker."""

    def __init__(
        self, environment: InstalledEnvironment, limits: LimitsConfig, harness_folder: Path, groups: SlotGroups
    ) -> None:
        """Start the supervisor and a zygote without libraries.

        Raises:
            WarmthLostError: they do not start here.
        """
        self._supervisor = Supervisor(environment, limits, harness_folder)
        self._groups = groups
        self._lock = threading.Lock()
        self._uses = 0
        self._kept: dict[frozenset[str], _Kept] = {}
        self._unforkable: set[frozenset[str]] = set()
        with self._zygote(frozenset()):
            pass

    @property
    def alive(self) -> bool:
        """Whether the supervisor still runs; without it nothing else does."""
        return self._supervisor.alive

    @property
    def supervisor_pid(self) -> int:
        """Process that everything else depends on."""
        return self._supervisor.pid

    @property
    def zygotes(self) -> dict[frozenset[str], Zygote]:
        """Those that are there now, by their modules."""
        with self._lock:
            return {modules: entry.zygote for modules, entry in self._kept.items() if entry.zygote}

    @contextmanager
    def process(self, modules: Sequence[str]) -> Iterator[WarmProcess]:
        """A sample's process, forked where exactly these modules are imported.

        Raises:
            WarmthLostError: it cannot be had.
        """
        wanted = frozenset(modules)
        with self._zygote(frozenset() if wanted in self._unforkable else wanted) as zygote:
            cell = self._supervisor.cell()
            try:
                process = WarmProcess(zygote, cell, self._groups)
                try:
                    yield process
                finally:
                    process.close()
            finally:
                cell.kill()
                cell.close()

    def close(self) -> None:
        """End everything."""
        self._supervisor.close()
        with self._lock:
            kept = [entry.zygote for entry in self._kept.values() if entry.zygote]
            self._kept.clear()
        for zygote in kept:
            zygote.close()

    @contextmanager
    def _zygote(self, modules: frozenset[str]) -> Iterator[Zygote]:
        with self._lock:
            self._uses += 1
            entry = self._kept.setdefault(modules, _Kept())
            entry.users += 1
            entry.last_use = self._uses
        try:
            with entry.lock:
                zygote = entry.zygote
                if zygote is None:
                    zygote = entry.zygote = self._made(modules)
            yield zygote
        except WarmthLostError as error:
            if isinstance(error, UnforkableError):
                self._unforkable.add(modules)  # its samples import for themselves, from a bare start
            self._discard(modules, entry)
            raise
        finally:
            with self._lock:
                entry.users -= 1
            self._retire()

    def _made(self, modules: frozenset[str]) -> Zygote:
        if not modules:
            return self._supervisor.zygote()
        base, zygote = self._nearest(modules)
        return zygote.fork(sorted(modules - base))

    def _nearest(self, modules: frozenset[str]) -> tuple[frozenset[str], Zygote]:
        """The zygote with the most of these modules and no other."""
        ready = [(key, zygote) for key, zygote in self.zygotes.items() if key < modules]
        if not ready:
            raise WarmthLostError("the zygote without libraries is gone")
        return max(ready, key=lambda found: len(found[0]))

    def _discard(self, modules: frozenset[str], entry: _Kept) -> None:
        """Forget a zygote that misbehaves: whoever asks next gets another."""
        with self._lock:
            if self._kept.get(modules) is entry:
                del self._kept[modules]
        with entry.lock:
            if entry.zygote:
                with suppress(OSError):
                    entry.zygote.close()
                entry.zygote = None

    def _retire(self) -> None:
        """End the zygotes that were not used for longest, where there are too many."""
        with self._lock:
            idle = sorted(
                (entry.last_use, key) for key, entry in self._kept.items() if key and not entry.users and entry.zygote
            )
            surplus = [self._kept.pop(key) for _, key in idle[: max(0, len(self._kept) - _MOST_ZYGOTES)]]
        for entry in surplus:
            if entry.zygote:
                entry.zygote.close()
