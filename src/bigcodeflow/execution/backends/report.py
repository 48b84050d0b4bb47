"""What comes out of a sandbox: the harness's report, read closed, and the tails of the program's output."""

import hmac
import json
from typing import Any

from bigcodeflow.sandbox.protocol import FRAME_BYTES, LAST_EVENTS, mac

_REPORT_BYTES = 32 << 20


class Tail:
    """The last bytes of a stream that may be endless."""

    def __init__(self, limit: int) -> None:
        self._limit, self._data, self.truncated = limit, bytearray(), False

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self._data += data
        if len(self._data) > self._limit:
            self.truncated = True
            del self._data[: len(self._data) - self._limit]

    def text(self) -> str:
        """The tail as text, whatever its bytes are."""
        return self._data.decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")


class Frames:
    """Reads the harness's report and fails closed: whatever is not exactly due is a violation."""

    def __init__(self, key: bytes) -> None:
        self._key, self._buffer, self._bytes = key, b"", 0
        self.frames: list[dict[str, Any]] = []
        self.violations: list[str] = []

    @property
    def imported(self) -> bool:
        """Whether the program's module text ran to its end, so that the test text is due."""
        return any(frame["event"] == "imported" for frame in self.frames)

    @property
    def ended(self) -> bool:
        """Whether the last frame is there."""
        return bool(self.frames) and self.frames[-1]["event"] in LAST_EVENTS

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self._bytes += len(data)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._accept(line)
        if len(self._buffer) > FRAME_BYTES or self._bytes > _REPORT_BYTES:
            self.violations.append("the report is larger than any honest one")

    def close(self) -> None:
        """Take note that nothing follows."""
        if self._buffer:
            self.violations.append("the report ends in the middle of a frame")

    def _accept(self, line: bytes) -> None:
        # Decoded only after its code was found right, so that nothing which the program wrote is ever parsed.
        code, _, payload = line.partition(b" ")
        if not hmac.compare_digest(code, mac(self._key, payload)):
            self.violations.append("a frame was forged or damaged")
            return
        frame = json.loads(payload)
        if frame["number"] != len(self.frames):
            self.violations.append("a frame was repeated, left out or reordered")
        elif self.ended:
            self.violations.append("a frame followed the end of the report")
        else:
            self.frames.append(frame)
