"""A connection to one host: messages out, answers matched to who waits for them, and a clear word when it breaks."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from bigcodeflow.config import LimitsConfig, Start
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.execution.backends.base import Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.worker_preflight import code_version

#: A host that says nothing for so long is taken for dead; it tells every 5 s that it lives.
_SILENCE_SECONDS = 60.0
_READY_SECONDS = 180.0
_PREPARE_SECONDS = 1800.0


class LinkLostError(ExecutionError):
    """A host cannot be reached, or not any more; another one may do the same work."""


class HostRefusedError(ExecutionError):
    """A host that will not do this work, however often it is asked."""


class Link(Protocol):
    """What a place gives: a host that was started, and bytes to and from it."""

    label: str
    """What people call it, such as 'container 3f2a…'."""

    def send(self, data: bytes) -> None:
        """Hand over whole lines.

        Raises:
            LinkLostError: the host is gone.
        """

    def lines(self) -> Iterator[bytes]:
        """The host's lines, one by one, until it is gone."""

    def close(self) -> None:
        """End the host and all that it runs; quiet where it has ended already."""


class Connection:
    """A link with a host that is ready; used by several threads at once."""

    def __init__(self, link: Link, limits: LimitsConfig, start: Start) -> None:
        """Begin, and wait until the host is ready.

        Raises:
            LinkLostError: it does not answer.
            HostRefusedError: it is of another version, lacks the environment or gives no sandbox.
        """
        self._link = link
        self._numbers = itertools.count()
        self._waiting: dict[object, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._lost: ExecutionError | None = None
        self._heard = time.monotonic()
        threading.Thread(target=self._read, name=f"link-{link.label}", daemon=True).start()
        begin = {"type": "begin", "protocol": protocol.PROTOCOL, "code_version": code_version()}
        try:
            self.ready = self._ask("ready", begin | {"limits": limits.model_dump(), "start": start}, _READY_SECONDS)
        except ExecutionError:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it may still be used."""
        return self._lost is None

    @property
    def load(self) -> int:
        """Items that are under way."""
        return len(self._waiting)

    @property
    def capabilities(self) -> Capabilities:
        """What the host can promise."""
        told = self.ready["capabilities"]
        return Capabilities(isolated=bool(told["isolated"]), layers=tuple(told["layers"]), warm=bool(told["warm"]))

    def prepare(self, texts: Sequence[tuple[str, str]]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The host's plan of how each program with its test starts.

        Raises:
            LinkLostError: the host is gone.
        """
        tests = list(dict.fromkeys(test for _, test in texts))
        index = {test: place for place, test in enumerate(tests)}
        programs = [[program, index[test]] for program, test in texts]
        number = next(self._numbers)
        message = {"type": "prepare", "number": number, "tests": tests, "programs": programs}
        starts = self._ask(number, message, _PREPARE_SECONDS)["starts"]
        return [(tuple(preload), tuple(zygote)) for preload, zygote in starts]

    def execute(self, item: WorkItem, patience_seconds: float) -> Outcome:
        """Have one item executed.

        Raises:
            LinkLostError: the host is gone, or did not end it in time.
        """
        number = next(self._numbers)
        message = {"type": "item", "number": number, "item": protocol.item_fields(item)}
        answer = self._ask(number, message, patience_seconds)
        try:
            return protocol.outcome_of(answer.get("outcome"))
        except protocol.WireError as error:
            raise self._break(LinkLostError(f"{self._link.label}: {error}")) from None

    def close(self) -> None:
        """End the host."""
        self._break(LinkLostError(f"{self._link.label} was closed"))
        self._link.close()

    def _ask(self, number: object, message: dict[str, Any], patience_seconds: float) -> dict[str, Any]:
        answer: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._lost:
                raise self._lost
            self._waiting[number] = answer
        deadline = time.monotonic() + patience_seconds
        try:
            self._link.send(protocol.line(message))
            while not answer.done():
                self._wait(answer, deadline)
            return answer.result()
        except LinkLostError as error:
            raise self._break(error) from None
        finally:
            with self._lock:
                self._waiting.pop(number, None)

    def _wait(self, answer: "Future[dict[str, Any]]", deadline: float) -> None:
        now = time.monotonic()
        silent = now - self._heard
        if silent > _SILENCE_SECONDS:
            raise LinkLostError(f"{self._link.label} has been silent for {silent:.0f} s")
        if now > deadline:
            raise LinkLostError(f"{self._link.label} did not answer in time")
        try:
            answer.exception(timeout=min(_SILENCE_SECONDS / 4, deadline - now))
        except TimeoutError:
            return

    def _read(self) -> None:
        told = f"{self._link.label} ended"
        try:
            for text in self._link.lines():
                self._heard = time.monotonic()
                self._hear(protocol.message_of(text))
        except (protocol.WireError, LinkLostError) as error:
            told = f"{self._link.label}: {error}"
        self._break(LinkLostError(told))

    def _hear(self, message: dict[str, Any]) -> None:
        if message["type"] == "refused":
            self._break(HostRefusedError(f"{self._link.label}: {message.get('message')}"))
        if message["type"] in ("prepared", "outcome", "ready"):
            number = message.get("number", message["type"])
            with self._lock:
                waiting = self._waiting.get(number)
            if waiting and not waiting.done():
                waiting.set_result(message)

    def _break(self, error: ExecutionError) -> ExecutionError:
        """Let everybody know who waits; the first cause is the one that is told."""
        with self._lock:
            self._lost = self._lost or error
            waiting, self._waiting = list(self._waiting.values()), {}
        for answer in waiting:
            if not answer.done():
                answer.set_exception(self._lost)
        return self._lost


OpenLink = Callable[[], Link]
