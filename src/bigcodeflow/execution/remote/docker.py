"""The backend docker: each host, with its warm sandboxes, in a container without network, root or capability."""

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO, cast

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.environments.images import environment_of, image_tag
from bigcodeflow.execution.backend_registry import BackendSpec
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.remote.backend import RemoteBackend
from bigcodeflow.execution.remote.docker_engine import (
    DockerEngine,
    container_settings,
    engine_errors,
    require_runtime,
    share_of,
)
from bigcodeflow.execution.remote.transports import HostLostError, HostRefusedError, whole_lines

_STDOUT, _STDERR = 1, 2
_HEADER = struct.Struct(">BxxxL")
_STDERR_TAIL = 4096
#: A host sends ``alive`` every 5 s; one that sends or takes nothing for so long is gone.
_SILENCE_SECONDS = 120.0
_KILLED = 137


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The environment in the configured image, after a look at the engine and its runtime; changes nothing there.

    Raises:
        SandboxUnavailableError: no engine answers, or it lacks the runtime.
        EnvironmentUnusableError: it lacks the image, or that holds another environment.
    """
    name = config.docker.image or image_tag(config.environment)
    try:
        with DockerEngine.connect(config.docker.url) as engine:
            require_runtime(config.docker.runtime, engine.info())
            image = engine.image(name)
    except (HostLostError, HostRefusedError) as error:
        raise SandboxUnavailableError(f"backend docker: {error}") from error
    if image is None:
        raise EnvironmentUnusableError(
            f"backend docker: the engine has no image {name}: run `bigcodeflow env build {config.environment} "
            "--backend docker`"
        )
    return environment_of(image, name, config.environment)


def backend(config: ExecutionConfig, environment: Environment, cores: float, isolated: bool) -> Backend:  # noqa: FBT001
    """Containers for a worker that may keep so many cores busy."""
    del isolated  # a host isolates, or refuses
    image = cast("RemoteEnvironment", environment).reference

    def settings(engine: DockerEngine) -> dict[str, Any]:
        info = engine.info()
        require_runtime(config.docker.runtime, info)
        engine.require_image(image)
        share = share_of(config, cores, info)
        return container_settings(engine, info, image=image, environment=environment.name, config=config, share=share)

    def open_transport() -> ContainerTransport:
        with ExitStack() as stack:
            engine = stack.enter_context(DockerEngine.connect(config.docker.url))
            transport = ContainerTransport(engine, settings(engine))
            stack.pop_all()  # from here on the transport's
        return transport

    def remove_orphans() -> None:
        with DockerEngine.connect(config.docker.url) as engine:
            engine.remove_orphans()

    return RemoteBackend(
        "docker",
        open_transport,
        hosts=config.docker.containers,
        limits=config.limits,
        start=config.start,
        remove_orphans=remove_orphans,
    )


class ContainerTransport:
    """One container with a host; ended by closing it, by the engine, or by the end of this process."""

    def __init__(self, engine: DockerEngine, settings: Mapping[str, Any]) -> None:
        """Create, attach and start; the engine's connection belongs to the transport from here on.

        Raises:
            HostLostError: the engine could not do that.
        """
        self._engine, self._client = engine, engine.client
        self._sending = threading.Lock()
        self._stderr = b""
        self._closed = False
        self._id = self.label = ""
        self._socket: socket.socket | None = None
        try:
            with engine_errors("create a container"):
                self._id = str(self._client.create_container_from_config(dict(settings))["Id"])
            self.label = f"container {self._id[:12]}"
            with engine_errors("start a container"):
                self._attach()
                self._client.start(self._id)
        except (HostLostError, HostRefusedError) as error:
            self.close()
            raise HostLostError(str(error)) from error

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
            raise HostLostError(f"{self.label} was never attached to")
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise HostLostError(f"{self.label} is gone ({error})") from error

    def lines(self) -> Iterator[bytes]:
        """The host's lines, until the container ends; then a HostLostError says why it did."""
        yield from whole_lines(self._output())
        raise HostLostError(f"it ended{self._why()}")

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
        text = f" with exit {code}" if code else ""
        if code == str(_KILLED):
            text += ", killed by somebody or for its memory (execution.docker.memory_mib)"
        last = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
        return text + "".join(f": {line}" for line in last)

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


SPEC = BackendSpec(environment, backend)
