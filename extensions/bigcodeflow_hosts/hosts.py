"""Connection to a host, backend with a limited number of hosts, and owners of hosts, to find hosts of killed runs."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import tenacity
from pydantic import ValidationError

from bigcodeflow.config import ExecutionConfig, LimitsConfig, Start
from bigcodeflow.core.errors import ExecutionError, SandboxUnavailableError
from bigcodeflow.core.machine import boot_id, pid_namespace, start_of
from bigcodeflow.judge.host.base import Capabilities, Outcome
from bigcodeflow.judge.items import WorkItem, code_version
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.backend import HostLostError, HostRefusedError, Outage, PlannedBackend, repeated

#: A host that sends nothing for this long counts as dead, and an item that it does not name for this long as lost.
_SILENCE_SECONDS = 60.0
_READY_SECONDS = 180.0
_PREPARE_SECONDS = 1800.0
#: An item whose host was lost starts again in another host, three times in all.
_STOP, _WAIT = tenacity.stop_after_attempt(3), tenacity.wait_incrementing(start=1.0, increment=1.0)
_ENDED_AT_ONCE = 32


class Transport(Protocol):
    """A started host, and the channel for bytes to and from the host."""

    label: str
    """Name of the host in messages, such as 'container 3f2a…'."""

    def send(self, data: bytes) -> None:
        """Send complete lines (the last byte is a newline); raise HostLostError if the host is lost."""

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that the host sends, until the host is gone."""

    def close(self) -> None:
        """End the host and its programs; do nothing if the host has ended already."""


OpenTransport = Callable[[], Transport]


class Connection:
    """Connection to a host that is ready to execute items; several threads use it at once."""

    def __init__(self, transport: Transport, limits: LimitsConfig, start: Start) -> None:
        """Send the message ``begin`` and wait until the host is ready; raise HostLostError or HostRefusedError."""
        self._transport = transport
        self._numbers = itertools.count()
        self._waiting: dict[object, _Request] = {}
        self._lock = threading.Lock()
        self._lost: ExecutionError | None = None
        self._last_line_at = time.monotonic()
        threading.Thread(target=self._read, name=f"read-{transport.label}", daemon=True).start()
        begin = {"type": "begin", "protocol": protocol.PROTOCOL, "code_version": code_version()}
        try:
            ready = self._request("ready", begin | {"limits": limits.model_dump(), "start": start}, _READY_SECONDS)
            self.info = protocol.HostInfo.model_validate(ready)
        except ValidationError:
            self.close()
            raise HostLostError(
                f"{transport.label}: its first message does not describe a host: build its image or template again"
            ) from None
        except ExecutionError:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        return self._lost is None

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a ``protocol.PrepareRequest`` (programs and tests), and return how the host plans to start them."""
        number = next(self._numbers)
        return self._request(number, {"type": "prepare", "number": number} | request, _PREPARE_SECONDS)

    def execute(self, item: WorkItem, on_long: Callable[[], None] | None = None) -> Outcome:
        """Return the outcome of one item, or raise HostLostError if the host is gone or has lost the item.

        The host enforces the item's limits. ``on_long`` is called in the calling thread once the item computes or
        sleeps for so long that the host begins another item meanwhile.
        """
        number = next(self._numbers)
        fields = protocol.item_fields(item, name=str(number), key=item.verdict_key)
        message = {"type": "item", "number": number, "item": fields}
        response = self._request(number, message, _SILENCE_SECONDS, on_long)
        try:
            return protocol.parse_outcome(response.get("outcome"))
        except protocol.ProtocolError as error:
            raise self._break(HostLostError(f"{self._transport.label}: {error}")) from None

    def close(self) -> None:
        self._break(HostLostError(f"{self._transport.label} was closed"))
        self._transport.close()

    def _request(
        self,
        number: object,
        message: dict[str, Any],
        patience_seconds: float,
        on_long: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        request = _Request()
        with self._lock:
            if self._lost:
                raise self._lost
            self._waiting[number] = request
        try:
            self._transport.send(protocol.line(message))
            while True:
                named_until, heard_until = request.named_at + patience_seconds, self._last_line_at + _SILENCE_SECONDS
                if (left := min(named_until, heard_until) - time.monotonic()) <= 0:
                    break
                try:
                    response = request.responses.get(timeout=left)
                except Empty:
                    continue
                if isinstance(response, ExecutionError):
                    raise response
                if response["type"] != "long":
                    return response
                if on_long:
                    on_long()
            silent_seconds = time.monotonic() - self._last_line_at
            silent = f"has been silent for {silent_seconds:.0f} s" if silent_seconds > _SILENCE_SECONDS else ""
            lost = HostLostError(f"{self._transport.label} {silent or 'did not answer in time'}")
        except HostLostError as error:
            lost = error
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        raise self._break(lost)

    def _read(self) -> None:
        reason = f"{self._transport.label} ended"
        try:
            for text in self._transport.lines():
                self._last_line_at = time.monotonic()
                message = protocol.message_of(text)
                if message["type"] == "refused":
                    self._break(HostRefusedError(f"{self._transport.label}: {message.get('message')}"))
                with self._lock:
                    if message["type"] == "alive":
                        for number in message.get("open", ()):
                            if request := self._waiting.get(number):
                                request.named_at = self._last_line_at
                    elif request := self._waiting.get(message.get("number", message["type"])):
                        request.responses.put(message)
        except (protocol.ProtocolError, HostLostError, TypeError) as error:  # TypeError: a message has invalid numbers
            reason = f"{self._transport.label}: {error}"
        self._break(HostLostError(reason))

    def _break(self, error: ExecutionError) -> ExecutionError:
        """End the connection: pass its first error to all waiting requests, and return that error to the caller."""
        with self._lock:
            self._lost = self._lost or error
            waiting, self._waiting = list(self._waiting.values()), {}
        for request in waiting:
            request.responses.put(self._lost)
        return self._lost


@dataclass(eq=False)
class _Request:
    """A request to the host; a thread waits for the response."""

    responses: SimpleQueue[dict[str, Any] | ExecutionError] = field(default_factory=SimpleQueue)
    named_at: float = field(default_factory=time.monotonic)
    """Time at which the request was sent, or at which the host last listed it as open."""


class RemoteBackend(PlannedBackend):
    """Backend that executes items in a limited number of hosts, which are started on demand and replaced if lost."""

    def __init__(
        self,
        config: ExecutionConfig,
        open_transport: OpenTransport,
        *,
        hosts: int,
        remove_orphans: Callable[[], object] = lambda: None,
        on_long: Callable[[], None] | None = None,
    ) -> None:
        """Prepare the backend; no host is started yet.

        ``open_transport`` starts a host, ``remove_orphans`` ends hosts that killed runs of this machine left behind;
        after a temporary failure, both raise HostLostError with advice. ``on_long`` is called in the thread of an item
        that computes or sleeps for long.
        """
        super().__init__(config)
        self._open_transport, self._remove_orphans, self._on_long = open_transport, remove_orphans, on_long
        self._hosts = [_HostSlot() for _ in range(hosts)]
        self._choosing = threading.Lock()
        self._outage = Outage(away_seconds=0.0)  # a host that could not be started is not tried again at once
        self._closed = False

    def close(self) -> None:
        """End all hosts, many at a time, because a service may take long to end a host."""
        self._closed = True
        with ThreadPoolExecutor(min(_ENDED_AT_ONCE, len(self._hosts)), "end") as pool:
            list(pool.map(_HostSlot.drop, self._hosts))

    def _promised(self) -> Capabilities:
        """Remove hosts of killed runs, start one host, and return its capabilities: what its sandbox supports."""
        try:
            self._remove_orphans()
            return self._connected(self._hosts[0]).info.capabilities
        except (HostLostError, HostRefusedError) as error:
            raise SandboxUnavailableError(f"backend {self.name}: {error}") from error

    def _planned(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        return protocol.with_starts(items, self._connected(self._hosts[0]).prepare)

    def _executed(self, item: WorkItem) -> Outcome:
        return repeated(self._execute_once, item, stop=_STOP, wait=_WAIT)

    def _execute_once(self, item: WorkItem) -> Outcome:
        with self._choosing:
            # A service that starts fewer hosts than requested still runs those that it has started.
            down = self._outage.given_up
            hosts = [one for one in self._hosts if not down or (one.connection and one.connection.alive)]
            if self._closed or not hosts:  # the item would only wait for a host that cannot start
                raise HostRefusedError("the run is ending" if self._closed else self._outage.reason)
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
                raise HostRefusedError("the run is ending")
            if host.connection and host.connection.alive:
                return host.connection
            host.drop()
            if self._outage.given_up:
                raise HostLostError(self._outage.reason)  # another thread has just tried
            try:
                host.connection = Connection(self._open_transport(), self._config.limits, self._config.start)
            except (HostLostError, HostRefusedError) as error:
                self._outage.failed(error)
                raise
            return host.connection


@dataclass(eq=False)
class _HostSlot:
    """Holder of a host of the backend: the host is started on first use, and started again after it was lost."""

    connection: Connection | None = None
    opening: threading.RLock = field(default_factory=threading.RLock)
    promised: int = 0

    def drop(self) -> None:
        """End the host, if there is one; if the host is being started, wait first."""
        with self.opening:
            if self.connection:
                self.connection.close()
            self.connection = None


def machine_id() -> str:
    """Return an id of this machine's boot and PID namespace; process ids are unique within that namespace."""
    return f"{boot_id()}-{pid_namespace()}"


def process_id(pid: int | None = None) -> str:
    """Return 'ID-START TIME' of a process, by default of this process; '' if the process has ended."""
    pid = pid or os.getpid()
    started = start_of(pid)
    return f"{pid}-{started}" if started else ""


def is_orphan(machine: str, process: str) -> bool:
    """Tell if a host's owner, ``process`` on ``machine``, ran on this machine and has ended."""
    pid = process.partition("-")[0]
    return machine == machine_id() and pid.isdecimal() and process_id(int(pid)) != process
