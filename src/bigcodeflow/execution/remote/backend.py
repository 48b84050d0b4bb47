"""A backend whose items run in hosts elsewhere: a bounded pool of them, replaced when they are lost."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote.transports import Connection, HostRefusedError, LinkLostError, OpenLink

logger = logging.getLogger(__name__)

_ATTEMPTS = 3
_SECONDS_BETWEEN_ATTEMPTS = 1.0
#: After a host could not be started, how long nobody tries again: a thousand items must not each wait for it.
_DOWN_SECONDS = 15.0
#: Wall time that an item may need beyond its limit: waiting for a core at the host, and the way there and back.
_SPARE_SECONDS = 900.0
_WALL_PER_CPU = 8.0
_ENDED_AT_ONCE = 32


class RemoteBackend:
    """Runs items in hosts that are started when they are needed, at most so many."""

    def __init__(
        self,
        name: str,
        open_link: OpenLink,
        *,
        hosts: int,
        limits: LimitsConfig,
        start: Start,
        remove_orphans: Callable[[], object] = lambda: None,
    ) -> None:
        """Nothing is started before it is needed.

        Args:
            name: of the backend, as verdicts state it.
            open_link: starts a host; raises LinkLostError where that fails for now, with what to do.
            hosts: how many there may be at the same time.
            limits: what each item may use.
            start: warm or cold.
            remove_orphans: ends the hosts that killed runs of this machine left behind; raises as open_link does.
        """
        self.name = name
        self._remove_orphans = remove_orphans
        self._open_link, self._limits, self._start = open_link, limits, start
        self._places: list[_Place] = [_Place() for _ in range(hosts)]
        self._choosing = threading.Lock()
        self._down_until, self._down_for = 0.0, ""
        self._closed = False

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Remove what killed runs left, and start one host, which starts one empty sandbox.

        Raises:
            SandboxUnavailableError: no host can be had, or it has no isolation and that is not allowed.
        """
        try:
            self._remove_orphans()
            capabilities = self._connected(self._places[0]).capabilities
        except (LinkLostError, HostRefusedError) as error:
            raise SandboxUnavailableError(f"backend {self.name}: {error}") from error
        if not (capabilities.isolated or allow_unisolated):
            raise SandboxUnavailableError(
                f"backend {self.name}: its hosts do not isolate samples from one another: pass --allow-unisolated if "
                "that is meant"
            )
        return capabilities

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items with what a warm start needs, as a host plans it; as they are where that cannot be asked."""
        if self._start == "cold":
            return items
        try:
            starts = self._connected(self._places[0]).prepare([(item.program, item.test) for item in items])
        except (LinkLostError, HostRefusedError) as error:
            logger.warning("backend %s: samples start without a plan, which is slower: %s", self.name, error)
            return items
        return [
            replace(item, preload=preload, zygote=zygote) for item, (preload, zygote) in zip(items, starts, strict=True)
        ]

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item; a host that is lost meanwhile is replaced, and the item begins again."""
        told = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_SECONDS_BETWEEN_ATTEMPTS * attempt)
            place = self._least_loaded()
            if place is None:
                break
            try:
                patience = item.time_seconds * _WALL_PER_CPU + _SPARE_SECONDS
                return self._connected(place).execute(item, patience)
            except LinkLostError as error:
                told = str(error)
                logger.info("backend %s: %s; an item is sent again", self.name, error)
            except HostRefusedError as error:
                told = str(error)
                break
            finally:
                with self._choosing:
                    place.promised -= 1
        return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {told or self._down_for or 'closed'}")

    def close(self) -> None:
        """End all hosts, many at a time: a service takes its time to end one."""
        self._closed = True
        with ThreadPoolExecutor(min(_ENDED_AT_ONCE, len(self._places)), "end") as pool:
            list(pool.map(_Place.end, self._places))

    def _least_loaded(self) -> "_Place | None":
        """Where the next item goes; None where it would only wait for a host that cannot be had."""
        with self._choosing:
            # A service that gives fewer hosts than were asked for still has those that it gave.
            down = time.monotonic() < self._down_until
            places = [one for one in self._places if not down or (one.connection and one.connection.alive)]
            if self._closed or not places:
                return None
            place = min(places, key=lambda one: (one.promised, one.connection is None))
            place.promised += 1
            return place

    def _connected(self, place: "_Place") -> Connection:
        with place.opening:
            if self._closed:
                raise HostRefusedError("it was closed")
            if place.connection and place.connection.alive:
                return place.connection
            place.drop()
            if time.monotonic() < self._down_until:
                raise LinkLostError(self._down_for)  # another thread has just tried
            try:
                place.connection = Connection(self._open_link(), self._limits, self._start)
            except (LinkLostError, HostRefusedError) as error:
                self._down_until, self._down_for = time.monotonic() + _DOWN_SECONDS, str(error)
                raise
            return place.connection


class _Place:
    """Where one host is, or may be."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.opening = threading.Lock()
        self.promised = 0

    def end(self) -> None:
        """End the host, once it is not being started any more."""
        with self.opening:
            self.drop()

    def drop(self) -> None:
        """End the host, if there is one; for who holds ``opening``."""
        if self.connection:
            self.connection.close()
        self.connection = None
