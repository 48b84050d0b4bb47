"""A sandboxed process that is forked from a zygote into its own namespaces; and the zygotes that one worker keeps."""

import json
import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.cgroups import SlotGroup, SlotGroupPool
from bigcodeflow.execution.backends.observation import ProcessEnd
from bigcodeflow.execution.backends.supervisor import (
    SampleNamespaces,
    SupervisorClient,
    UnforkableError,
    WarmStartError,
    ZygoteClient,
    pid_of,
    receive,
)

logger = logging.getLogger(__name__)

_START_SECONDS = 30.0
_MAX_ZYGOTES = 48


class WarmProcess:
    """A sample forked from a zygote."""

    def __init__(self, zygote: ZygoteClient, namespaces: SampleNamespaces, groups: SlotGroupPool) -> None:
        """Fork it.

        Raises:
            WarmStartError: the zygote did not.
        """
        self._namespaces, self._groups = namespaces, groups
        self._group: SlotGroup | None = None
        self._reply, reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel, channel = socket.socketpair()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        self.ended = -1
        try:
            with reply, channel:
                zygote.start_sample([reply.fileno(), channel.fileno(), stdout, stderr, namespaces.descriptor])
            self.ended = self._forked()
            self._pid = pid_of(self.ended)
        except WarmStartError:
            self.close()
            raise
        finally:
            os.close(stdout)
            os.close(stderr)

    def _forked(self) -> int:
        """Descriptor of the new process."""
        self._reply.settimeout(_START_SECONDS)
        _, descriptors = receive(self._reply)
        if not descriptors:
            raise WarmStartError("a zygote did not fork its sample")
        return descriptors[0]

    def roots(self) -> Sequence[int]:
        """The sample, and the process that inherits its orphans."""
        return (self._pid, self._namespaces.pid)

    def kill(self) -> None:
        """End everything in the namespaces."""
        self._namespaces.kill()

    def end(self) -> ProcessEnd:
        """Wait for the zygote's account and for the last process; a zygote that died or hangs gives none."""
        account, _ = receive(self._reply)
        self._namespaces.kill()
        if not self._namespaces.wait_until_empty():
            logger.warning("a sandbox does not end; its processes are in an uninterruptible state")
        if not account:
            return ProcessEnd("signal 9")
        used = json.loads(account)
        code = os.waitstatus_to_exitcode(used["status"])
        return ProcessEnd(f"exit {code if code >= 0 else 128 - code}", used["cpu_seconds"], used["max_rss_mib"])

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


class _ZygoteSlot:
    """A zygote or the place of one that is being made, and how many samples are being forked from it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.zygote: ZygoteClient | None = None
        self.users = 0
        self.last_use = 0


class WarmSandbox:
    """A supervisor with its zygotes, made as they are asked for; used by all threads of a worker."""

    def __init__(self, environment: InstalledEnvironment, limits: LimitsConfig, groups: SlotGroupPool) -> None:
        """Start the supervisor and a zygote without libraries.

        Raises:
            WarmStartError: they do not start here.
        """
        self._supervisor = SupervisorClient(environment, limits)
        self._groups = groups
        self._lock = threading.Lock()
        self._uses = 0
        self._slots: dict[frozenset[str], _ZygoteSlot] = {}
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
    def zygotes(self) -> dict[frozenset[str], ZygoteClient]:
        """Those that are there now, by their modules."""
        with self._lock:
            return {modules: slot.zygote for modules, slot in self._slots.items() if slot.zygote}

    @contextmanager
    def process(self, modules: Sequence[str]) -> Iterator[WarmProcess]:
        """A sample's process, forked where exactly these modules are imported.

        Raises:
            WarmStartError: it cannot be had.
        """
        wanted = frozenset(modules)
        with self._zygote(frozenset() if wanted in self._unforkable else wanted) as zygote:
            namespaces = self._supervisor.sample_namespaces()
            try:
                with closing(WarmProcess(zygote, namespaces, self._groups)) as process:
                    yield process
            finally:
                namespaces.kill()
                namespaces.close()

    def close(self) -> None:
        """End everything."""
        self._supervisor.close()
        with self._lock:
            zygotes = [slot.zygote for slot in self._slots.values() if slot.zygote]
            self._slots.clear()
        for zygote in zygotes:
            zygote.close()

    @contextmanager
    def _zygote(self, modules: frozenset[str]) -> Iterator[ZygoteClient]:
        with self._lock:
            self._uses += 1
            slot = self._slots.setdefault(modules, _ZygoteSlot())
            slot.users += 1
            slot.last_use = self._uses
        try:
            with slot.lock:
                zygote = slot.zygote
                if zygote is None:
                    zygote = slot.zygote = self._make(modules)
            yield zygote
        except WarmStartError as error:
            if isinstance(error, UnforkableError):
                self._unforkable.add(modules)  # its samples import for themselves, from a bare start
            self._discard(modules, slot)
            raise
        finally:
            with self._lock:
                slot.users -= 1
            self._retire()

    def _make(self, modules: frozenset[str]) -> ZygoteClient:
        """Fork it from the zygote with the most of these modules and no other."""
        if not modules:
            return self._supervisor.zygote()
        ready = [(key, zygote) for key, zygote in self.zygotes.items() if key < modules]
        if not ready:
            raise WarmStartError("the zygote without libraries is gone")
        base, zygote = max(ready, key=lambda found: len(found[0]))
        return zygote.fork(sorted(modules - base))

    def _discard(self, modules: frozenset[str], slot: _ZygoteSlot) -> None:
        """Forget a zygote that misbehaves: whoever asks next gets another."""
        with self._lock:
            if self._slots.get(modules) is slot:
                del self._slots[modules]
        with slot.lock:
            if slot.zygote:
                with suppress(OSError):
                    slot.zygote.close()
                slot.zygote = None

    def _retire(self) -> None:
        """End the zygotes that were not used for longest, where there are too many."""
        with self._lock:
            idle = sorted(
                (slot.last_use, key) for key, slot in self._slots.items() if key and not slot.users and slot.zygote
            )
            surplus = [self._slots.pop(key) for _, key in idle[: max(0, len(self._slots) - _MAX_ZYGOTES)]]
        for slot in surplus:
            if slot.zygote:
                slot.zygote.close()
