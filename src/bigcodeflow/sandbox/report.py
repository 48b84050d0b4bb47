"""The harness's end of the channel: messages of the executor come in, authenticated frames go out.

Functions of other modules are imported by name: a program or test that replaces them there does not end the report.
"""

from __future__ import annotations

import builtins
from hashlib import sha256
from json import dumps, loads
from os import _exit as leave
from os import getpid, read, write
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from typing import Any

    from bigcodeflow.sandbox.protocol import LAST_EVENTS, TRACE_CHARACTERS, mac, masked
else:
    from protocol import LAST_EVENTS, TRACE_CHARACTERS, mac, masked

globals()["__builtins__"] = dict(vars(builtins))  # functions made below look names up here, whatever a program replaces

_READ_BYTES = 1 << 20


class Job:
    """The two messages of the executor: the program with its settings, and later the test text."""

    def __init__(self, descriptor: int) -> None:
        """Wait for the first message.

        Raises:
            EOFError: the channel ended before the message did.
        """
        self._descriptor = descriptor
        self.settings = self._receive()
        self.nonce: str = self.settings.pop("nonce")
        self._expected = self.settings.pop("test_sha256")

    def test_text(self) -> str | None:
        """Wait for the second message: the test text; None where it is not the one that the first has announced.

        Raises:
            EOFError: the channel ended before the message did.
        """
        content = masked(bytes.fromhex(self._receive()["test"]), self.nonce)
        if sha256(content).hexdigest() != self._expected:
            return None
        return content.decode("utf-8", "surrogatepass")

    def _receive(self) -> dict[str, Any]:
        blocks = [b""]
        while not blocks[-1].endswith(b"\n"):
            blocks.append(read(self._descriptor, _READ_BYTES))
            if not blocks[-1]:
                raise EOFError("the channel ended before the message did")
        message: dict[str, Any] = loads(b"".join(blocks).decode("ascii"))
        return message


class Report:
    """The frames to the executor: numbered, and each with an authentication code that the nonce gives."""

    def __init__(self, descriptor: int, nonce: str) -> None:
        """Only the process that makes it reports."""
        self._descriptor, self._key = descriptor, nonce.encode("ascii")
        self._owner, self._number = getpid(), 0

    def send(self, event: str, **fields: Any) -> None:
        """Send one frame; in a process that the program forked, and that went on into the harness, leave instead."""
        if getpid() != self._owner:
            leave(0)
        fields.update((name, fields[name][-TRACE_CHARACTERS:]) for name in ("trace", "exception") if name in fields)
        if event == "started" or event in LAST_EVENTS:
            fields.update(_usage())
        payload = dumps(dict(fields, event=event, number=self._number)).encode("ascii")
        data = mac(self._key, payload) + b" " + payload + b"\n"
        while data:
            data = data[write(self._descriptor, data) :]
        self._number += 1


def _usage() -> dict[str, float]:
    found = [getrusage(kind) for kind in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return {
        "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in found),
        "max_rss_mib": max(one.ru_maxrss for one in found) / 1024,
    }
