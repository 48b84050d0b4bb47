"""A host in a container, spoken to through the stream that the engine attaches to its standard streams."""

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from bigcodeflow.execution.remote.docker_engine import Engine, EngineError, spoken
from bigcodeflow.execution.remote.transports import LinkLostError

_STDOUT, _STDERR = 1, 2
_HEADER = struct.Struct(">BxxxL")
_STDERR_TAIL = 4096
#: A host tells every 5 s that it lives; who says nothing for so long is gone, and who takes nothing as well.
_SILENCE_SECONDS = 120.0
_KILLED = 137


class ContainerLink:
    """One container with a host; ended by closing it, by the engine, or by the end of this process."""

    def __init__(self, engine: Engine, settings: Mapping[str, Any]) -> None:
        """Create, attach and start; the engine's connection belongs to the link from here on.

        Raises:
            LinkLostError: the engine could not do that.
        """
        self._engine, self._client = engine, engine.client
        self._sending = threading.Lock()
        self._stderr = b""
        self._closed = False
        self._id = self.label = ""
        self._socket: socket.socket | None = None
        try:
            with spoken("create a container"):
                self._id = str(self._client.create_container_from_config(dict(settings))["Id"])
            self.label = f"container {self._id[:12]}"
            with spoken("start a container"):
                self._attach()
                self._client.start(self._id)
        except EngineError as error:
            self.close()
            raise LinkLostError(str(error)) from error

    def _attach(self) -> None:
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._attached = self._client.attach_socket(self._id, params=streams)  # kept: its end would close the stream
        stream: socket.socket = getattr(self._attached, "_sock", self._attached)
        stream.settimeout(_SILENCE_SECONDS)
        self._incoming: BinaryIO = stream.makefile("rb")
        self._socket = stream

    def send(self, data: bytes) -> None:
        """Hand over whole lines."""
        if self._socket is None:
            raise LinkLostError(f"{self.label} was never attached to")
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise LinkLostError(f"{self.label} is gone ({error})") from error

    def lines(self) -> Iterator[bytes]:
        """The host's lines, until the container ends; then a LinkLostError says why it did."""
        begun: list[bytes] = []
        for data in self._output():
            *whole, rest = data.split(b"\n")
            for end in whole:
                yield b"".join([*begun, end])
                begun.clear()
            if rest:
                begun.append(rest)
        raise LinkLostError(f"it ended{self._why()}")

    def _output(self) -> Iterator[bytes]:
        while (frame := self._frame()) is not None:
            stream, data = frame
            if stream == _STDOUT:
                yield data
            elif stream == _STDERR:
                self._stderr = (self._stderr + data)[-_STDERR_TAIL:]

    def _frame(self) -> tuple[int, bytes] | None:
        try:
            header = self._incoming.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return None
            stream, size = _HEADER.unpack(header)
            data = self._incoming.read(size)
        except (OSError, ValueError):  # it was closed meanwhile, here or there
            return None
        return (stream, data) if len(data) == size else None

    def _why(self) -> str:
        if self._closed:
            return ""
        code = self._engine.exit_code(self._id)
        told = f" with exit {code}" if code else ""
        if code == str(_KILLED):
            told += ", killed by somebody or for its memory (execution.docker.memory_mib)"
        last = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
        return told + "".join(f": {line}" for line in last)

    def close(self) -> None:
        """End the container and all in it."""
        self._closed = True
        if self._socket:
            with suppress(OSError):  # gone already
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
            for stream in (self._incoming, self._attached, self._socket):
                with suppress(OSError):
                    stream.close()
        if self._id:
            self._engine.remove(self._id)
        self._engine.close()
