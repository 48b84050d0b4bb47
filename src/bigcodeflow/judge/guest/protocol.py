"""Protocol between harness and executor over one channel, a pair of connected sockets, and the harness's side of it.

Each message of the executor is one line of JSON. The first is the job: the program, the limits, a nonce that keys the
authentication codes of the frames, and a digest of the test text. The second holds the masked test text as ``test``.
It is sent after the program was imported, so the process does not hold the test text while the program's module runs.

The harness answers with frames, one per line: an authentication code over the rest of the line, a blank, one JSON
object with a running number. A program that takes over the channel can lose or repeat frames, but not forge frames.

``started``  the interpreter runs and the limits are set; no code of the program has run yet
``imported`` the program's module ran to its end; the executor may send the test text
``loaded``   the test text ran too; ``tests`` lists the collected methods
``module_failed``  the program or the test text failed: ``exception``, ``trace``, ``phase`` (compile, program, test or
    collect); the last frame
``test``     one method ended: ``name``, ``outcome``, ``seconds``, ``exception``, ``trace``
``class_failed``   setUpClass or tearDownClass raised
``tampering``      ``what`` says how this protocol was broken; the last frame
``end``      everything ran; the last frame

The first and the last frame also hold ``cpu_seconds`` and ``max_rss_mib`` of the process and its children.

Functions of other modules are imported by name: a program or test that replaces such a function cannot stop the report.
"""

from __future__ import annotations

import builtins
from hashlib import blake2b
from json import dumps, encoder, loads
from os import _exit as leave
from os import getpid, read, write
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
if TYPE_CHECKING:
    from hashlib import shake_256
    from typing import Any
else:
    try:
        from _sha3 import shake_256
    except ImportError:  # OpenSSL's version, with which a forked zygote copies more memory pages
        from hashlib import shake_256

globals()["__builtins__"] = dict(vars(builtins))  # for functions below, even if a program replaces builtins

#: Name that the test text of a separated execution calls to get a proxy for the program's function.
SEPARATED = "__separated__"

#: Last line of a test text whose mocks are watched: a method fails if a mock's record changes without a call.
WATCHED_MOCKS = "# watched mocks"

#: Descriptor of the channel while the program runs: above the descriptors that programs close as a precaution.
CHANNEL = 1000

LAST_EVENTS = ("end", "module_failed", "tampering")

#: Bump when the harness may judge the same program differently: cached verdicts of older versions are not reused.
HARNESS_VERSION = 4

#: Longest traceback that is sent, in characters; its end, with the error, is kept.
_TRACE_CHARACTERS = 16_000
#: Longest frame that the executor accepts, in bytes.
FRAME_BYTES = 1 << 20
_READ_BYTES = 1 << 20
#: C encoder that ``json.dumps`` uses internally, called without the Python functions in between.
_json_parts: Any = vars(encoder)["c_make_encoder"](
    None, None, encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True
)


def mac(key: bytes, payload: bytes) -> bytes:
    """Return the authentication code of a frame's payload, as hexadecimal digits."""
    return blake2b(payload, key=key, digest_size=16).hexdigest().encode()


def masked(content: bytes, nonce: str) -> bytes:
    """Mask or unmask ``content`` with a key stream made from ``nonce``: other readers of the channel learn nothing."""
    mask = shake_256(nonce.encode("ascii")).digest(len(content))
    return (int.from_bytes(content, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(content), "big")


def split_job(job: dict[str, object]) -> tuple[bytes, bytes]:
    """Return the two messages of a job: the job without its field ``test``, and the masked test text."""
    test, nonce = str(job.get("test", "")), str(job["nonce"])
    content = test.encode("utf-8", "surrogatepass")  # a lone surrogate is legal in a JSON string
    first = {name: value for name, value in job.items() if name != "test"}
    first["test_digest"] = blake2b(content).hexdigest()
    second = {"test": masked(content, nonce).hex()}
    return dumps(first).encode("ascii") + b"\n", dumps(second).encode("ascii") + b"\n"


class SampleJob:
    """Reader of the executor's two messages: the program with its settings, and later the test text."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.settings = self._receive()
        self.nonce: str = self.settings.pop("nonce")
        self._expected = self.settings.pop("test_digest")

    def test_text(self) -> str | None:
        """Wait for the second message; return its test text, or None if the text does not match the digest."""
        content = masked(bytes.fromhex(self._receive()["test"]), self.nonce)
        if blake2b(content).hexdigest() != self._expected:
            return None
        return content.decode("utf-8", "surrogatepass")

    def _receive(self) -> dict[str, Any]:
        blocks = [b""]
        while not blocks[-1].endswith(b"\n"):
            blocks.append(read(self._descriptor, _READ_BYTES))
            if not blocks[-1]:
                raise EOFError("the executor closed the channel before its message was complete")
        message: dict[str, Any] = loads(b"".join(blocks).decode("ascii"))
        return message


class FrameWriter:
    """Writer of frames to the executor: numbered, each with an authentication code keyed by the nonce."""

    def __init__(self, descriptor: int, nonce: str) -> None:
        """Store the id of this process: only this process may send frames."""
        self._descriptor, self._key = descriptor, nonce.encode("ascii")
        self._owner, self._number = getpid(), 0

    def send(self, event: str, **fields: Any) -> None:
        """Send one frame; but if the program forked this process, and the fork returned to the harness, exit."""
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
