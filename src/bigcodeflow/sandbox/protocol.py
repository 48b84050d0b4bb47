"""The protocol of the harness and the executor over one channel, a pair of connected sockets; the harness's end of it.

Each message of the executor is one line of JSON. The first is the job: the program, the limits, a nonce that keys the
frames' codes, and a digest of the test text. The second holds that text, masked, as ``test``. It is sent when the
program was imported, so that the test text is nowhere in the process while the program's module runs.

The harness answers with frames, one a line: an authentication code over the rest of the line, a blank, one JSON object
with a running number. A program that takes the channel over can lose or repeat frames, but not make or change one.

``started``  the interpreter is up and the limits are set; nothing foreign has run yet
``imported`` the program's module text ran to its end; the test text may be sent
``loaded``   the test text ran too; ``tests`` lists the collected methods
``module_failed``  the program or the test text did not: ``exception``, ``trace``, ``phase`` (compile, program, test or
    collect); the last
``test``     one method ended: ``name``, ``outcome``, ``seconds``, ``exception``, ``trace``
``class_failed``   setUpClass or tearDownClass raised
``tampering``      ``what`` broke this protocol; the last
``end``      everything ran; the last

The first and the last frame also hold ``cpu_seconds`` and ``max_rss_mib`` of the process and its children.

Functions of other modules are imported by name: a program or test that replaces them there does not end the report.
"""

from __future__ import annotations

import builtins
from hashlib import blake2b
from json import dumps, encoder, loads
from os import _exit as leave
from os import getpid, read, write
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from hashlib import shake_256
    from typing import Any
else:
    try:
        from _sha3 import shake_256
    except ImportError:  # OpenSSL's, which costs the fork of a zygote more pages of its own
        from hashlib import shake_256

globals()["__builtins__"] = dict(vars(builtins))  # functions made below look names up here, whatever a program replaces

#: What the test text of a separated execution calls, with a name and what has it, for the program's function.
SEPARATED = "__separated__"

LAST_EVENTS = ("end", "module_failed", "tampering")

#: Bump when the harness may judge the same program differently: cached verdicts of older versions are not reused.
HARNESS_VERSION = 3

#: Longest traceback that travels, in characters; the tail says what went wrong.
_TRACE_CHARACTERS = 16_000
#: Longest frame that the executor accepts, in bytes.
FRAME_BYTES = 1 << 20
_READ_BYTES = 1 << 20
#: What ``json.dumps`` calls, without the Python functions on the way there.
_json_parts: Any = vars(encoder)["c_make_encoder"](
    None, None, encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True
)


def mac(key: bytes, payload: bytes) -> bytes:
    """Authentication code of a frame's payload, as hexadecimal digits."""
    return blake2b(payload, key=key, digest_size=16).hexdigest().encode()


def masked(content: bytes, nonce: str) -> bytes:
    """The content under a mask that the nonce gives, so that a thread which peeks into the channel learns nothing."""
    mask = shake_256(nonce.encode("ascii")).digest(len(content))
    return (int.from_bytes(content, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(content), "big")


def split_job(job: dict[str, object]) -> tuple[bytes, bytes]:
    """The first and the second message for a job whose ``test`` is the test text."""
    test, nonce = str(job.get("test", "")), str(job["nonce"])
    content = test.encode("utf-8", "surrogatepass")  # a lone surrogate is legal in a JSON string
    first = {name: value for name, value in job.items() if name != "test"}
    first["test_digest"] = blake2b(content).hexdigest()
    second = {"test": masked(content, nonce).hex()}
    return dumps(first).encode("ascii") + b"\n", dumps(second).encode("ascii") + b"\n"


class SampleJob:
    """The two messages of the executor: the program with its settings, and later the test text."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.settings = self._receive()
        self.nonce: str = self.settings.pop("nonce")
        self._expected = self.settings.pop("test_digest")

    def test_text(self) -> str | None:
        """Wait for the second message: the test text; None where it is not the one that the first has announced."""
        content = masked(bytes.fromhex(self._receive()["test"]), self.nonce)
        if blake2b(content).hexdigest() != self._expected:
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


class FrameWriter:
    """The frames to the executor: numbered, and each with an authentication code that the nonce gives."""

    def __init__(self, descriptor: int, nonce: str) -> None:
        """Only the process that makes it reports."""
        self._descriptor, self._key = descriptor, nonce.encode("ascii")
        self._owner, self._number = getpid(), 0

    def send(self, event: str, **fields: Any) -> None:
        """Send one frame; in a process that the program forked, and that went on into the harness, leave instead."""
        if getpid() != self._owner:
            leave(0)
        if "trace" in fields:
            fields.update(
                trace=fields["trace"][-_TRACE_CHARACTERS:], exception=fields["exception"][-_TRACE_CHARACTERS:]
            )
        if event == "started" or event in LAST_EVENTS:
            fields.update(_usage())
        fields.update(event=event, number=self._number)
        payload = "".join(_json_parts(fields, 0)).encode("ascii")
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
