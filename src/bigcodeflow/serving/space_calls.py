"""What machines ask a space: a file of messages in, answers as they come, in the words of ``execution.remote.wire``.

The file begins with ``begin``; ``prepare`` and ``item`` follow. Answers are those of a host, and ``end`` is the last.
"""

import asyncio
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.executor_pool import Kind, Workshop
from bigcodeflow.execution.worker_preflight import code_version, require_code

if TYPE_CHECKING:
    from concurrent.futures import Future

logger = logging.getLogger(__name__)

#: Outcomes that are kept for a client whose stream broke, and for how long.
_KEPT = 512
_KEPT_SECONDS = 300.0


class Bounds(NamedTuple):
    """What one call may ask for; a call that asks for more is refused as a whole."""

    items: int = 1000
    seconds: float = 3600.0
    """Time limit of an item."""
    memory_mib: int = 32 * 1024
    """Memory limit of an item."""


@dataclass(slots=True)
class _Execution:
    done: "Future[Outcome]"
    users: int
    ended_at: float = 0.0


class Executions:
    """Items by the number that their client gave them: one that is sent twice is executed once.

    The number, not the content, tells them apart: a client that executes an item again, to see whether it is flaky,
    wants another execution and gives it another number.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._known: OrderedDict[str, _Execution] = OrderedDict()
        self._lock = threading.Lock()
        self.begun = 0
        """Executions so far."""

    def join(self, number: str, item: WorkItem, kind: Kind) -> "Future[Outcome]":
        """The outcome to come of an item; it is begun unless it is under way, or ended lately."""
        with self._lock:
            self._forget()
            known = self._known.get(number)
            if known is None or known.done.cancelled():
                known = self._known[number] = _Execution(self._workshop.submit(item, kind), 0)
                self.begun += 1
            known.users += 1
            return known.done

    def leave(self, number: str) -> None:
        """One who waited for an item has gone; what has not begun and nobody waits for is taken back."""
        with self._lock:
            known = self._known.get(number)
            if known is None:
                return
            known.users -= 1
            if not known.users and known.done.cancel():
                del self._known[number]

    def _forget(self) -> None:
        now = time.monotonic()
        for number, known in list(self._known.items()):
            if known.users or not known.done.done():
                continue
            known.ended_at = known.ended_at or now
            if now - known.ended_at > _KEPT_SECONDS or len(self._known) > _KEPT:
                del self._known[number]


class Calls:
    """The endpoints for machines."""

    def __init__(self, workshop: Workshop, bounds: Bounds) -> None:
        """Nothing is started before the first call."""
        self.workshop, self.bounds = workshop, bounds
        self.executions = Executions(workshop)
        self._capabilities: dict[Kind, Capabilities] = {}
        self._checking = threading.Lock()

    def info(self, kind: str = "") -> dict[str, Any]:
        """What this space is: version, environment, cores, and what its sandboxes keep out.

        Args:
            kind: limits and start of the items to come as a JSON object; empty takes the defaults.
        """
        try:
            wanted = _kind_of(_object_of(kind) if kind else {"limits": {}, "start": "warm"})
            with self._checking:
                found = self._capabilities.get(wanted) or self.workshop.check(wanted)
                self._capabilities[wanted] = found
        except BigCodeFlowError as error:
            return {"code_version": code_version(), "refused": str(error)}
        return self.workshop.described(found) | {"bounds": self.bounds._asdict()}

    async def execute(self, path: Path) -> AsyncIterator[str]:
        """Answer the messages of a file, as they are answered; the file is removed.

        What has not begun when the client goes is taken back.
        """
        said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        call = _Call(self, lambda message: loop.call_soon_threadsafe(said.put_nowait, message))
        reading = asyncio.create_task(asyncio.to_thread(call.take, path))
        try:
            ended = False
            while not ended:
                messages = await _next(said)
                ended = any(message["type"] == "end" for message in messages)
                yield b"".join(protocol.line(message) for message in messages).decode("ascii")
            await reading
        finally:
            call.leave()


async def _next(said: asyncio.Queue[dict[str, Any]]) -> list[dict[str, Any]]:
    """All that is there, or a sign of life."""
    try:
        messages = [await asyncio.wait_for(said.get(), protocol.ALIVE_SECONDS)]
    except TimeoutError:
        return [{"type": "alive"}]
    while not said.empty():
        messages.append(said.get_nowait())
    return messages


class _Call:
    """One file of messages, and how many of its answers are still to come."""

    def __init__(self, calls: Calls, say: Callable[[dict[str, Any]], object]) -> None:
        self._calls, self._say = calls, say
        self._lock = threading.Lock()
        self._open = 1  # the file itself
        self._numbers: list[str] = []
        self._left = False

    def take(self, path: Path) -> None:
        """Read the file and have everything in it begun."""
        try:
            text = path.read_bytes()
            path.unlink()
            self._begin(text.splitlines())
        except BigCodeFlowError as error:
            self._say({"type": "refused", "message": str(error)})
        finally:
            self._answered()

    def leave(self) -> None:
        """Wait for nothing any more."""
        with self._lock:
            self._left = True
            numbers, self._numbers = self._numbers, []
        for number in numbers:
            self._calls.executions.leave(number)

    def _begin(self, lines: list[bytes]) -> None:
        messages = [protocol.message_of(line) for line in lines]
        if not messages or messages[0]["type"] != "begin":
            raise protocol.WireError("a file of messages starts with begin")
        if messages[0].get("protocol") != protocol.PROTOCOL:
            raise protocol.WireError(
                f"this space speaks protocol {protocol.PROTOCOL}, the client {messages[0].get('protocol')}"
            )
        require_code(str(messages[0].get("code_version")))
        kind = _kind_of(messages[0])
        items = [_item_of(message) for message in messages[1:] if message["type"] == "item"]
        self._require_within(kind, [item for _, item in items])
        # All is read before anything begins: half a file is executed by nobody.
        for message in messages[1:]:
            if message["type"] == "prepare":
                self._prepare(message)
            elif message["type"] != "item":
                raise protocol.WireError(f"a space takes no message of type {message['type']!r}")
        for number, item in items:
            self._execute(number, item, kind)

    def _require_within(self, kind: Kind, items: list[WorkItem]) -> None:
        bounds = self._calls.bounds
        if len(items) > bounds.items:
            raise protocol.WireError(f"{len(items):,} items are more than the {bounds.items:,} of one call")
        if kind.limits.memory_mib > bounds.memory_mib:
            raise protocol.WireError(
                f"this space gives an item at most {bounds.memory_mib:,} MiB: lower limits.memory_mib"
            )
        if any(item.time_seconds > bounds.seconds for item in items):
            raise protocol.WireError(
                f"this space gives an item at most {bounds.seconds:g} s: lower limits.time_seconds"
            )

    def _prepare(self, message: dict[str, Any]) -> None:
        try:
            tests = message["tests"]
            texts = [(str(program), str(tests[index])) for program, index in message["programs"]]
        except (KeyError, TypeError, ValueError, IndexError):
            raise protocol.WireError("prepare has tests, and programs with the index of their test") from None
        starts = self._calls.workshop.prepare(texts)
        self._say({"type": "prepared", "number": message.get("number"), "starts": starts})

    def _execute(self, number: str, item: WorkItem, kind: Kind) -> None:
        with self._lock:
            if self._left:
                return
            self._numbers.append(number)
            self._open += 1
            done = self._calls.executions.join(number, item, kind)
        done.add_done_callback(lambda future: self._tell(number, future))

    def _tell(self, number: str, future: "Future[Outcome]") -> None:
        if future.cancelled():
            outcome = Outcome(exit=f"{NOT_STARTED}the space is closing")
        elif error := future.exception():
            logger.error("an item could not be executed: %r", error)
            outcome = Outcome(exit=f"{NOT_STARTED}{error}")
        else:
            outcome = future.result()
        self._say({"type": "outcome", "number": number, "outcome": protocol.outcome_fields(outcome)})
        self._answered()

    def _answered(self) -> None:
        with self._lock:
            self._open -= 1
            ended = not self._open
        if ended:
            self._say({"type": "end"})


def _object_of(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise protocol.WireError("kind is no JSON object")
    return value


def _kind_of(message: dict[str, Any]) -> Kind:
    start = message.get("start")
    if start not in {"warm", "cold"}:
        raise protocol.WireError(f"start {start!r} is neither warm nor cold")
    try:
        return Kind(LimitsConfig.model_validate(message.get("limits")), "warm" if start == "warm" else "cold")
    except ValidationError as error:
        raise protocol.WireError(f"the client's limits cannot be used: {' '.join(str(error).split())}") from None


def _item_of(message: dict[str, Any]) -> tuple[str, WorkItem]:
    number = message.get("number")
    if not isinstance(number, str) or not number:
        raise protocol.WireError("an item has a number that is a text of its own")
    return number, protocol.item_of(message.get("item"))
