"""A backend that runs items in a limited pool of hosts and replaces lost hosts; and a backend with a fallback."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tenacity import Retrying, before_sleep_log, retry_if_exception_type, stop_after_attempt, wait_incrementing

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.host.base import NOT_STARTED, Backend, Capabilities, Outcome, UnderWay
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.transports import Connection, HostLostError, HostRefusedError, OpenTransport

logger = logging.getLogger(__name__)

#: An item whose host was lost starts again in another host; a host that refuses it is not asked again.
_repeat_on_another_host = Retrying(
    retry=retry_if_exception_type(HostLostError),
    wait=wait_incrementing(start=1.0, increment=1.0),
    stop=stop_after_attempt(3),
    before_sleep=before_sleep_log(logger, logging.INFO),
    reraise=True,
)
#: Seconds without new starts after a host could not be started: a thousand items must not each wait for a start.
_DOWN_SECONDS = 15.0
_ENDED_AT_ONCE = 32


class RemoteBackend:
    """Runs items in a limited number of hosts, which are started when they are needed."""

    def __init__(
        self,
        config: ExecutionConfig,
        open_transport: OpenTransport,
        *,
        hosts: int,
        remove_orphans: Callable[[], object] = lambda: None,
        on_long: Callable[[], None] | None = None,
    ) -> None:
        """Start nothing yet.

        ``open_transport`` starts a host, ``remove_orphans`` ends hosts that killed runs of this machine left behind;
        after a temporary failure, both raise HostLostError with advice. ``on_long`` is called in the thread of an item
        that computes or sleeps for long.
        """
        self.name: str = config.backend
        self._config, self._open_transport, self._remove_orphans = config, open_transport, remove_orphans
        self._on_long = on_long
        self._hosts = [_HostSlot() for _ in range(hosts)]
        self._choosing = threading.Lock()
        self._down_until, self._down_for = 0.0, ""
        self._closed = False
        self._under_way = UnderWay()

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Remove hosts that killed runs left, start one host with an empty sandbox, and return its capabilities."""
        try:
            self._remove_orphans()
            found = self._connected(self._hosts[0]).info.capabilities
        except (HostLostError, HostRefusedError) as error:
            raise SandboxUnavailableError(f"backend {self.name}: {error}") from error
        if not (found.isolated or allow_unisolated):
            raise SandboxUnavailableError(
                f"backend {self.name}: its hosts do not isolate samples from one another: pass --allow-unisolated if "
                "that is meant"
            )
        return found

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Return the items with a host's plan for their warm starts; unchanged if no host can plan."""
        if self._config.start == "cold":
            return items
        try:
            return protocol.with_starts(items, self._connected(self._hosts[0]).prepare)
        except (HostLostError, HostRefusedError, protocol.ProtocolError) as error:
            logger.warning("backend %s: samples start without a plan, which is slower: %s", self.name, error)
            return items

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item; if its host is lost meanwhile, replace the host and start the item again."""
        try:
            with self._under_way.noted(item):
                return _repeat_on_another_host(self._execute_once, item)
        except (HostLostError, HostRefusedError) as error:
            return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {error}")

    def under_way(self) -> Mapping[str, float]:
        """Return the seconds since each item was given to a host, time in its queue included, by verdict key."""
        return self._under_way.seconds()

    def close(self) -> None:
        """End all hosts, many at a time, because a service may take long to end a host."""
        self._closed = True
        with ThreadPoolExecutor(min(_ENDED_AT_ONCE, len(self._hosts)), "end") as pool:
            list(pool.map(_HostSlot.drop, self._hosts))

    def _execute_once(self, item: WorkItem) -> Outcome:
        with self._choosing:
            # A service that starts fewer hosts than requested still runs those that it has started.
            down = time.monotonic() < self._down_until
            hosts = [one for one in self._hosts if not down or (one.connection and one.connection.alive)]
            if self._closed or not hosts:  # the item would only wait for a host that cannot start
                raise HostRefusedError("it was closed" if self._closed else self._down_for)
            host = min(hosts, key=lambda one: (one.promised, one.connection is None))
            host.promised += 1
        try:
            return self._connected(host).execute(item, self._on_long)
        finally:
            with self._choosing:
                host.promised -= 1

    def _connected(self, host: "_HostSlot") -> Connection:
        with host.opening:
            if self._closed:
                raise HostRefusedError("it was closed")
            if host.connection and host.connection.alive:
                return host.connection
            host.drop()
            if time.monotonic() < self._down_until:
                raise HostLostError(self._down_for)  # another thread has just tried
            try:
                host.connection = Connection(self._open_transport(), self._config.limits, self._config.start)
            except (HostLostError, HostRefusedError) as error:
                self._down_until, self._down_for = time.monotonic() + _DOWN_SECONDS, str(error)
                raise
            return host.connection


@dataclass(eq=False)
class _HostSlot:
    """A host that is started when it is first needed."""

    connection: Connection | None = None
    opening: threading.RLock = field(default_factory=threading.RLock)
    promised: int = 0

    def drop(self) -> None:
        """End the host, if it exists; wait first if it is being started."""
        with self.opening:
            if self.connection:
                self.connection.close()
            self.connection = None


class FailoverBackend:
    """Executes items in the first backend, and only items that it cannot start in the second."""

    def __init__(self, first: Backend, second: Backend, environment: Environment) -> None:
        """Start nothing yet; ``environment`` is that of the second backend, for its verdicts."""
        self.name = first.name
        self._first, self._second, self._environment = first, second, environment
        self._warned = False

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Return the capabilities of the first backend, or of the second if the first is unavailable."""
        try:
            return self._first.check(allow_unisolated=allow_unisolated)
        except SandboxUnavailableError as error:
            self._warn(str(error))
            return self._second.check(allow_unisolated=allow_unisolated)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Prepare the items by the first backend: both have the same libraries, so the preloads are the same."""
        return self._first.prepare(items)

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item in the first backend, or in the second if the first cannot start it."""
        outcome = self._first.execute(item)
        if not outcome.not_started:
            return outcome
        self._warn(outcome.exit)
        second = self._second.execute(item)
        if second.not_started:
            return replace(second, exit=f"{outcome.exit}; {second.exit}")
        return replace(second, backend=self._second.name, environment_sha=self._environment.environment_sha)

    def under_way(self) -> Mapping[str, float]:
        """Return the running items of both backends."""
        return {**self._first.under_way(), **self._second.under_way()}

    def close(self) -> None:
        """Close both backends."""
        self._first.close()
        self._second.close()

    def _warn(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("backend %s takes over where %s cannot: %s", self._second.name, self._first.name, why)
