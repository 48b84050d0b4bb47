"""The words that the harness and the executor exchange over one channel, a pair of connected sockets.

Each message of the executor is one line of JSON. The first is the job: the program, the limits, a nonce that keys the
frames' codes, and the sha256 of the test text. The second holds that text, masked, as ``test``. It is sent when the
program was imported, so that the test text is nowhere in the process while the program's module runs.

The harness answers with frames, one a line: an authentication code over the rest of the line, a blank, one JSON object
with a running number. A program that takes the channel over can lose or repeat frames, but not make or change one.

``started``  the interpreter is up and the limits are set; nothing foreign has run yet
``imported`` the program's module text ran to its end; the test text may be sent
``loaded``   the test text ran too; ``tests`` lists the collected methods
``module_failed``  one of them did not: ``exception``, ``trace``, ``phase`` is compile, program, test or
    collect; the last frame
``test``     one method ended: ``name``, ``outcome``, ``seconds``, ``exception``, ``trace``
``class_failed``   setUpClass or tearDownClass raised
``tampering``      ``what`` broke this protocol; the last frame
``end``      everything ran; the last frame

The first and the last frame also tell ``cpu_seconds`` and ``max_rss_mib`` of the process and its children.
"""

from __future__ import annotations

import json
from hashlib import blake2b, sha256, shake_256

#: What the test text of a separated execution calls, with a name and what has it, for the program's function.
SEPARATED = "__separated__"

LAST_EVENTS = ("end", "module_failed", "tampering")

#: Bump when the harness may judge the same program differently: cached verdicts of older versions are not reused.
HARNESS_VERSION = 3

#: Longest traceback that travels, in characters; the tail says what went wrong.
TRACE_CHARACTERS = 16_000

#: Longest frame that the executor accepts, in bytes.
FRAME_BYTES = 1 << 20

#: Length of a frame's authentication code.
CODE_BYTES = 16


def mac(key: bytes, payload: bytes) -> bytes:
    """Authentication code of a frame's payload, as hexadecimal digits."""
    return blake2b(payload, key=key, digest_size=CODE_BYTES).hexdigest().encode()


def masked(content: bytes, nonce: str) -> bytes:
    """The content under a mask that the nonce gives, so that a thread which peeks into the channel learns nothing."""
    mask = shake_256(nonce.encode("ascii")).digest(len(content))
    return (int.from_bytes(content, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(content), "big")


def split_job(job: dict[str, object]) -> tuple[bytes, bytes]:
    """The first and the second message for a job whose ``test`` is the test text."""
    test, nonce = str(job.get("test", "")), str(job["nonce"])
    content = test.encode("utf-8", "surrogatepass")  # a lone surrogate is legal in a JSON string
    first = {name: value for name, value in job.items() if name != "test"}
    first["test_sha256"] = sha256(content).hexdigest()
    return _message(first), _message({"test": masked(content, nonce).hex()})


def _message(content: dict[str, object]) -> bytes:
    return json.dumps(content).encode("ascii") + b"\n"
