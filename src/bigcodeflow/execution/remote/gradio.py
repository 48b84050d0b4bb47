"""Items executed by this project's Gradio space: gathered into files, answered item by item."""

import itertools
import json
import logging
import queue
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from bigcodeflow.config import ExecutionConfig, LimitsConfig, ServiceConfig, Start
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.execution.backend_registry import BackendSpec
from bigcodeflow.execution.backends.base import NOT_STARTED, Backend, Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.spaces import FileRefusedError, Space, SpaceBusyError
from bigcodeflow.execution.remote.transports import HostRefusedError, LinkLostError
from bigcodeflow.execution.worker_preflight import code_version

logger = logging.getLogger(__name__)

#: How long the first of a batch waits for others.
_GATHER_SECONDS = 0.05
_MOST_ITEMS = 64
_MOST_BYTES = 8 * 2**20
_PREPARE_SECONDS = 1800.0
_INFO_SECONDS = 180.0
#: Tries in a row that bring no outcome; their pauses are half a minute in all, in which a space is restarted.
_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 8.0
#: After a space was given up, how long nobody tries again: a thousand items must not each wait for it.
_DOWN_SECONDS = 15.0


@dataclass(eq=False, slots=True)
class _Waiting:
    """An item on its way."""

    number: str
    """Its execution's own; an item that is executed again, to see whether it is flaky, has another one."""
    item: WorkItem
    outcome: "Future[Outcome]" = field(default_factory=Future)

    def settle(self, outcome: Outcome) -> None:
        with suppress(InvalidStateError):  # the first outcome stands
            self.outcome.set_result(outcome)

    def line(self) -> bytes:
        return protocol.line({"type": "item", "number": self.number, "item": protocol.item_fields(self.item)})


class GradioBackend:
    """Runs items at a space."""

    name = "gradio"

    def __init__(self, service: ServiceConfig, limits: LimitsConfig, start: Start) -> None:
        """Nothing is connected before it is needed."""
        self._service, self._limits, self._start = service, limits, start
        self._patience_seconds = service.timeout_seconds
        self._own, self._numbers = uuid.uuid4().hex, itertools.count()
        self._room = threading.BoundedSemaphore(service.concurrency)
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._senders = ThreadPoolExecutor(service.concurrency, "gradio")
        self._lock = threading.Lock()
        self._resting: list[Space] = []
        self._under_way: set[_Waiting] = set()
        self._gatherer: threading.Thread | None = None
        self._down_until, self._down_for = 0.0, ""
        self._closed = threading.Event()

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Have the space start one empty sandbox.

        Raises:
            SandboxUnavailableError: the space does not answer, or has no isolation and that is not allowed.
        """
        kind = json.dumps({"limits": self._limits.model_dump(), "start": self._start})
        try:
            with self._session() as space:
                told = _info(space, kind)["capabilities"]
        except (LinkLostError, HostRefusedError, EnvironmentUnusableError) as error:
            raise SandboxUnavailableError(f"backend {self.name}: {error}") from error
        found = Capabilities(isolated=bool(told["isolated"]), layers=tuple(told["layers"]), warm=bool(told["warm"]))
        if not (found.isolated or allow_unisolated):
            raise SandboxUnavailableError(
                f"backend {self.name}: the space does not isolate samples from one another: pass --allow-unisolated if "
                "that is meant"
            )
        return found

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items with what a warm start needs, as the space plans it; as they are where that cannot be asked."""
        if self._start == "cold":
            return items
        try:
            starts = [start for part in _parts(items) for start in self._planned(part)]
        except (LinkLostError, HostRefusedError, protocol.WireError) as error:
            logger.warning("backend %s: samples start without a plan, which is slower: %s", self.name, error)
            return items
        return [
            replace(item, preload=tuple(preload), zygote=tuple(zygote))
            for item, (preload, zygote) in zip(items, starts, strict=True)
        ]

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item; what the space lost is sent again, alone with what else it lost."""
        with self._room:
            if time.monotonic() < self._down_until:
                return self._unplaced(self._down_for)
            waiting = _Waiting(f"{self._own}-{next(self._numbers)}", item)
            with self._lock:
                self._under_way.add(waiting)
            try:
                self._start_gathering()
                self._waiting.put(waiting)
                if self._closed.is_set():  # asked last: one that is closed from now on tells who is under way
                    waiting.settle(self._unplaced("it was closed"))
                return waiting.outcome.result(timeout=self._patience_seconds)
            except TimeoutError:
                waiting.settle(self._unplaced("too late"))  # so that nobody sends it again
                return self._unplaced(
                    f"{self._service.url} gave no outcome within {self._patience_seconds:g} s: raise "
                    "execution.service.timeout_seconds, or give the space more cores"
                )
            finally:
                with self._lock:
                    self._under_way.discard(waiting)

    def close(self) -> None:
        """Give up what is under way, and the session."""
        self._closed.set()
        self._waiting.put(None)
        self._senders.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            resting, self._resting = self._resting, []
            under_way = list(self._under_way)
        for waiting in under_way:
            waiting.settle(self._unplaced("it was closed"))
        for space in resting:
            space.close()

    def _start_gathering(self) -> None:
        with self._lock:
            if self._gatherer is None:
                self._gatherer = threading.Thread(target=self._gather, name="gradio-gather", daemon=True)
                self._gatherer.start()

    def _gather(self) -> None:
        """Put what waits at the same time into one file."""
        while first := self._waiting.get():
            batch, size = [first], len(first.item.program) + len(first.item.test)
            deadline = time.monotonic() + _GATHER_SECONDS
            while len(batch) < _MOST_ITEMS and size < _MOST_BYTES:
                try:
                    another = self._waiting.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    break
                if another is None:
                    self._waiting.put(None)
                    break
                batch.append(another)
                size += len(another.item.program) + len(another.item.test)
            with suppress(RuntimeError):  # it was closed, and what waits has been told
                self._senders.submit(self._send, batch)

    def _send(self, batch: list[_Waiting]) -> None:
        """Ask until every item has its outcome, or the space is given up."""
        told, failures, busy = "", 0, 0
        while (left := _unsettled(batch)) and failures < _ATTEMPTS and not self._closed.is_set():
            if failures or busy:
                self._closed.wait(_pause_seconds(max(failures, busy)))
            try:
                self._ask(left)
                told = f"{self._service.url} ended its answer early"
            except SpaceBusyError as error:
                told, busy = str(error), busy + 1
                continue  # the patience of the items themselves ends it
            except (LinkLostError, protocol.WireError) as error:
                told = str(error)
            except FileRefusedError as error:
                self._send_parts(left, str(error))
                return
            except HostRefusedError as error:
                told, failures = str(error), _ATTEMPTS
            still = _unsettled(batch)
            busy, failures = 0, 0 if len(still) < len(left) else failures + 1
            if still:
                logger.info("backend %s: %s; %d items are sent again", self.name, told, len(still))
        self._give_up(batch, told)

    def _send_parts(self, batch: list[_Waiting], told: str) -> None:
        """Find the item that a file was refused for; the others are none the worse for it."""
        if len(batch) == 1:
            batch[0].settle(self._unplaced(told))
            return
        for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            self._send(part)

    def _give_up(self, batch: list[_Waiting], told: str) -> None:
        left = _unsettled(batch)
        if left and not self._closed.is_set():
            self._down_until, self._down_for = time.monotonic() + _DOWN_SECONDS, told
        for waiting in left:
            waiting.settle(self._unplaced(told or "it was closed"))

    def _ask(self, batch: Sequence[_Waiting]) -> None:
        by_number = {waiting.number: waiting for waiting in batch}
        text = self._begin() + b"".join(waiting.line() for waiting in batch)
        with self._session() as space:
            for message in _answers(space, text, lambda: bool(_unsettled(batch)) and not self._closed.is_set()):
                if message["type"] == "outcome" and (waiting := by_number.get(str(message.get("number")))):
                    waiting.settle(protocol.outcome_of(message.get("outcome")))

    def _planned(self, part: Sequence[WorkItem]) -> list[Any]:
        tests = list(dict.fromkeys(item.test for item in part))
        index = {test: place for place, test in enumerate(tests)}
        programs = [[item.program, index[item.test]] for item in part]
        message = {"type": "prepare", "number": "0", "tests": tests, "programs": programs}
        deadline = time.monotonic() + _PREPARE_SECONDS
        starts: list[Any] = []
        with self._session() as space:
            for answer in _answers(space, self._begin() + protocol.line(message), lambda: time.monotonic() < deadline):
                if answer["type"] == "prepared":
                    starts = list(answer["starts"])
        if len(starts) != len(part):
            raise LinkLostError(f"{self._service.url} made no plan")
        return starts

    def _begin(self) -> bytes:
        begin = {"type": "begin", "protocol": protocol.PROTOCOL, "code_version": code_version()}
        return protocol.line(begin | {"limits": self._limits.model_dump(), "start": self._start})

    @contextmanager
    def _session(self) -> Iterator[Space]:
        """A session for one call; one that ended as it should is kept for the next."""
        if self._closed.is_set():
            raise HostRefusedError("it was closed")
        with self._lock:
            space = self._resting.pop() if self._resting else None
        space, whole = space or Space(self._service), False
        try:
            yield space
            whole = True
        finally:
            if whole and space.rests() and not self._closed.is_set():
                with self._lock:
                    self._resting.append(space)
            else:
                space.close()

    def _unplaced(self, told: str) -> Outcome:
        return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {told}")


def _unsettled(batch: Sequence[_Waiting]) -> list[_Waiting]:
    return [waiting for waiting in batch if not waiting.outcome.done()]


def _pause_seconds(failures: int) -> float:
    return float(min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10)))


def _parts(items: Sequence[WorkItem]) -> Iterator[list[WorkItem]]:
    """The items in files of a size that the space takes."""
    part: list[WorkItem] = []
    size = 0
    for item in items:
        own = len(item.program) + len(item.test)
        if part and size + own > _MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(item)
        size += own
    if part:
        yield part


def _answers(space: Space, text: bytes, wanted: Any) -> Iterator[dict[str, Any]]:
    """The space's messages.

    Raises:
        FileRefusedError: it says that it will not do it.
        LinkLostError: it is gone.
        WireError: it says what has no meaning.
    """
    rest = ""
    for piece in space.converse(text, wanted=wanted):
        *lines, rest = (rest + piece).split("\n")
        for line in lines:
            message = protocol.message_of(line.encode())
            if message["type"] == "refused":
                raise FileRefusedError(f"{space.label}: {message.get('message')}")
            yield message


def _info(space: Space, kind: str = "") -> dict[str, Any]:
    """What the space says of itself.

    Raises:
        EnvironmentUnusableError: it has another version.
        HostRefusedError: it cannot start a sandbox, or is no such space.
        LinkLostError: it does not answer.
    """
    space.offers("/execute")
    told = space.result("/info", _INFO_SECONDS, kind=kind)
    if not isinstance(told, dict) or not isinstance(told.get("code_version"), str):
        raise LinkLostError(f"{space.label} tells nothing of itself: is this the right space?")
    if told["code_version"] != code_version():
        raise EnvironmentUnusableError(
            f"{space.label} has bigcodeflow {told['code_version']}, and this machine {code_version()}: install the "
            "same version in both places and restart the space"
        )
    if told.get("refused"):
        raise HostRefusedError(f"{space.label}: {told['refused']}")
    return told


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The space's environment.

    Raises:
        SandboxUnavailableError: the space does not answer.
        EnvironmentUnusableError: it has another version or another environment.
    """
    try:
        space = Space(config.service)
        try:
            told = _info(space)["environment"]
        finally:
            space.close()
    except (LinkLostError, HostRefusedError) as error:
        raise SandboxUnavailableError(f"backend gradio: {error}") from error
    if told["name"] != config.environment:
        raise EnvironmentUnusableError(
            f"space {config.service.url} has the environment {told['name']}, and the run wants {config.environment}: "
            f"set execution.environment={told['name']}, or start the space with --environment {config.environment}"
        )
    return RemoteEnvironment(
        name=told["name"],
        environment_sha=told["environment_sha"],
        missing_data=tuple(told["missing_data"]),
        lock_sha256=told["lock_sha256"],
        reference=config.service.url,
    )


def _backend(config: ExecutionConfig, _environment: Environment, _cores: float, _isolated: bool) -> Backend:  # noqa: FBT001
    return GradioBackend(config.service, config.limits, config.start)


SPEC = BackendSpec(environment, _backend)
