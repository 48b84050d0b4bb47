"""The backend docker, for Docker or Podman: each host in a container without network, root or capability."""

import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, NamedTuple, Self, cast

import docker  # type: ignore[import-untyped]
import requests
from docker.errors import DockerException, NotFound  # type: ignore[import-untyped]
from docker.utils import kwargs_from_env, version_lt  # type: ignore[import-untyped]

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.core.paths import shipped
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.environments.images import environment_of, image_tag
from bigcodeflow.execution.backend_registry import BackendSpec, OnLong
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.remote.backend import RemoteBackend
from bigcodeflow.execution.remote.transports import (
    HostLostError,
    HostRefusedError,
    is_orphan,
    machine_id,
    process_id,
    whole_lines,
)

#: Of Docker 20.10 and Podman 4; older ones do not take the paths of /proc that a sandbox needs unmasked.
_OLDEST_API = "1.40"
_CALL_SECONDS = 60
#: Part of the machine's memory that containers share out.
_MEMORY_SHARE = 0.9
#: Of each process. An engine's own are those of its service, and more than Podman may always give.
_ULIMITS = {"core": 0, "nofile": 16_384}
_LABEL = "bigcodeflow.owner"
#: Numbers of the multiplexed streams of an attached container, and the header of each of their frames.
_STDOUT, _STDERR = 1, 2
_HEADER = struct.Struct(">BxxxL")
#: A host sends ``alive`` every 5 s; one that sends or takes nothing for so long is gone.
_SILENCE_SECONDS = 120.0


class Share(NamedTuple):
    """Cores and memory of each container."""

    cores: float
    memory_mib: int


class DockerEngine:
    """A connection to an engine; for one thread."""

    def __init__(self, client: Any, url: str) -> None:
        self.client, self._url = client, url
        self.version: Mapping[str, Any] = client.version()

    @classmethod
    def connect(cls, url: str) -> Self:
        """Connect to the engine at an address; empty takes DOCKER_HOST, or Docker's own socket."""
        options = {"base_url": "unix:///var/run/docker.sock"} | kwargs_from_env() | ({"base_url": url} if url else {})
        url = options["base_url"]
        if url.startswith("unix://"):
            options.pop("tls", None)
        try:
            _probe(url)
            engine = cls(docker.APIClient(version="auto", timeout=_CALL_SECONDS, **options), url)
        except (DockerException, requests.RequestException, OSError, ValueError) as error:
            raise HostLostError(
                f"no container engine answers at {url} ({_brief(error)}): start Docker or Podman, or set "
                "execution.docker.url"
            ) from error
        system, version = engine.version.get("Os"), engine.version["ApiVersion"]
        if system == "linux" and not version_lt(version, _OLDEST_API):
            return engine
        engine.close()
        if system != "linux":
            raise HostRefusedError(f"the engine runs {system} containers, and sandboxes need linux")
        raise HostRefusedError(
            f"the engine speaks version {version} of Docker's API, and {_OLDEST_API} is needed: update it to Docker "
            "20.10, Podman 4 or newer"
        )

    def image(self, name: str) -> Mapping[str, Any] | None:
        """The engine's description of an image; None where it has none of that name or id."""
        with engine_errors("inspect the image"), suppress(NotFound):
            return cast("Mapping[str, Any]", self.client.inspect_image(name))
        return None

    def info(self, *, runtime: str) -> Mapping[str, Any]:
        """The engine's description of itself and its machine; refuses a runtime, if one is named, that it lacks."""
        with engine_errors("describe itself"):
            found: Mapping[str, Any] = self.client.info()
        known = sorted(found.get("Runtimes") or {})
        if runtime and runtime not in known:
            raise HostRefusedError(
                f"execution.docker.runtime is {runtime}, and the engine knows {', '.join(known)}: install it and name "
                "it in the engine's configuration, or leave execution.docker.runtime empty"
            )
        return found

    def remove_orphans(self) -> None:
        """Remove containers whose owner, a process of this machine, was killed before it could start them."""
        with engine_errors("list containers"):
            found = self.client.containers(all=True, filters={"label": _LABEL})
        for container in found:
            machine, _, process = container["Labels"][_LABEL].partition("/")
            if is_orphan(machine, process):
                self.remove(container["Id"])

    def remove(self, container: str) -> None:
        """End and remove a container; no error where it is gone already, or the engine is."""
        with suppress(DockerException, requests.RequestException, OSError):
            _probe(self._url)
            self.client.remove_container(container, force=True)

    def exit_code(self, container: str) -> str:
        """Exit code of a container that the engine has removed since, from its events; empty where they lack it."""
        with suppress(DockerException, requests.RequestException, OSError, ValueError, KeyError):
            _probe(self._url)
            until = int(time.time() + 3)
            for event in self.client.events(since=1, until=until, filters={"container": container}, decode=True):
                if event.get("Action", event.get("status")) in ("die", "died"):
                    return str(event["Actor"]["Attributes"].get("exitCode", ""))
        return ""

    def close(self) -> None:
        """Close its connections."""
        self.client.close()


def _probe(url: str) -> None:
    """Connect once to a socket of this machine: Docker's client would leave its own open where that fails."""
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(_CALL_SECONDS)
            tried.connect(url.removeprefix("unix://"))


@contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Raise errors of Docker's client as HostLostError, or as HostRefusedError where the engine answers with one."""
    try:
        yield
    except DockerException as error:
        raise HostRefusedError(f"the engine could not {action}: {_brief(error)}") from error
    except (requests.RequestException, OSError) as error:
        raise HostLostError(f"the engine could not {action}: {_brief(error)}") from error


def share_of(config: ExecutionConfig, cores: float, info: Mapping[str, Any]) -> Share:
    """What each container may use, of so many cores and of the memory of the engine's machine."""
    containers = config.docker.containers
    memory_mib = config.docker.memory_mib or int(info["MemTotal"] / 2**20 * _MEMORY_SHARE / containers)
    divided = config.docker.memory_mib or containers > 1  # else it is as on any machine that is small
    if divided and memory_mib < config.limits.memory_mib:  # the container would end what the limits allow
        raise HostRefusedError(
            f"a container would have {memory_mib} MiB, and one sample may use {config.limits.memory_mib}: raise "
            "execution.docker.memory_mib, or lower execution.docker.containers or execution.limits.memory_mib"
        )
    return Share(max(1.0, min(cores, info["NCPU"]) / containers), memory_mib)


def container_settings(
    engine: DockerEngine, config: ExecutionConfig, *, image: str, environment: str, cores: float
) -> dict[str, Any]:
    """What a host's container is created with, as Docker's API takes it."""
    info = engine.info(runtime=config.docker.runtime)
    share = share_of(config, cores, info)
    host = ["python", "-m", "bigcodeflow.execution.remote.host", "--environment", environment]
    profile = shipped("deployments/server/seccomp.json")
    if any("Podman" in part.get("Name", "") for part in engine.version.get("Components") or ()):
        security = ["no-new-privileges", f"seccomp={profile}", "unmask=ALL"]
    else:
        security = ["no-new-privileges", f"seccomp={profile.read_text(encoding='utf-8')}"]
        if any("apparmor" in option for option in info.get("SecurityOptions") or ()):
            security.append("apparmor=unconfined")  # Docker's own profile forbids every mount
    runtime = {"Runtime": config.docker.runtime} if config.docker.runtime else {}
    return {
        "Image": image,
        "Cmd": [*host, "--cores", str(int(share.cores)), "--slots-per-core", str(config.slots_per_worker)],
        "User": "1000:1000",
        "Labels": {_LABEL: f"{machine_id()}/{process_id()}"},
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,  # the host's input ends with the client that was attached, however that ended
        "HostConfig": runtime
        | {
            "AutoRemove": True,
            "ReadonlyRootfs": True,
            "NetworkMode": "none",
            "IpcMode": "private",
            "Tmpfs": {"/tmp": "rw,exec,nosuid,nodev,mode=1777,size=1024m"},  # noqa: S108
            "Memory": share.memory_mib * 2**20,
            "MemorySwap": share.memory_mib * 2**20,
            "PidsLimit": config.docker.processes,
            "Ulimits": [{"Name": name, "Soft": most, "Hard": most} for name, most in _ULIMITS.items()],
            "NanoCpus": int(share.cores * 1e9),
            "CapDrop": ["ALL"],
            "SecurityOpt": security,
            # The kernel shows a sandbox a /proc of its own only where nothing of the container's is masked. None of
            # what Docker masks can be written without capabilities, and each sandbox masks what tells of the machine.
            "MaskedPaths": [],
            "ReadonlyPaths": [],
            "LogConfig": {"Type": "none"},  # outcomes pass through standard output, and would fill the engine's disk
        },
    }


def _brief(error: Exception) -> str:
    return " ".join(str(getattr(error, "explanation", "") or error).split())[:300]


class ContainerTransport:
    """One container with a host; ended by closing it, by the engine, or by the end of this process."""

    def __init__(self, engine: DockerEngine, settings: Mapping[str, Any]) -> None:
        """Create, attach and start, or raise HostLostError; closing the transport closes the engine's connection."""
        self._engine, client = engine, engine.client
        self._sending = threading.Lock()
        self._stderr = b""
        self._closed = False
        self._opened = ExitStack()
        self._opened.callback(engine.close)
        try:
            with engine_errors("create a container"):
                self._id = str(client.create_container_from_config(dict(settings))["Id"])
            self._opened.callback(engine.remove, self._id)
            self.label = f"container {self._id[:12]}"
            with engine_errors("start a container"):
                streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                attached = client.attach_socket(self._id, params=streams)
                self._socket: socket.socket = getattr(attached, "_sock", attached)
                self._socket.settimeout(_SILENCE_SECONDS)
                self._incoming: BinaryIO = self._socket.makefile("rb")
                wake_reader = partial(self._socket.shutdown, socket.SHUT_RDWR)
                for close in (self._socket.close, attached.close, self._incoming.close, wake_reader):
                    self._opened.enter_context(suppress(OSError))  # gone already
                    self._opened.callback(close)
                client.start(self._id)
        except (HostLostError, HostRefusedError) as error:
            self.close()
            raise HostLostError(str(error)) from error

    def send(self, data: bytes) -> None:
        """Send whole lines."""
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise HostLostError(f"{self.label} is gone ({error})") from error

    def lines(self) -> Iterator[bytes]:
        """The host's lines, until the container ends; then a HostLostError says why it did."""
        yield from whole_lines(self._output())
        reason = "it ended"
        if not self._closed:
            code = self._engine.exit_code(self._id)
            reason += f" with exit {code}" if code else ""
            if code == "137":  # 128 and SIGKILL
                reason += ", killed by somebody or for its memory (execution.docker.memory_mib)"
            last = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
            reason = ": ".join((reason, *last))
        raise HostLostError(reason)

    def _output(self) -> Iterator[bytes]:
        with suppress(OSError, ValueError):  # it was closed meanwhile, here or there
            while len(header := self._incoming.read(_HEADER.size)) == _HEADER.size:
                stream, size = _HEADER.unpack(header)
                data = self._incoming.read(size)
                if len(data) < size:
                    return
                if stream == _STDOUT:
                    yield data
                elif stream == _STDERR:
                    self._stderr = (self._stderr + data)[-4096:]

    def close(self) -> None:
        """End the container and all in it."""
        self._closed = True
        self._opened.close()


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The environment in the configured image; checks the engine and its runtime, and changes nothing there."""
    name = config.docker.image or image_tag(config.environment)
    try:
        with closing(DockerEngine.connect(config.docker.url)) as engine:
            engine.info(runtime=config.docker.runtime)
            image = engine.image(name)
    except (HostLostError, HostRefusedError) as error:
        raise SandboxUnavailableError(f"backend docker: {error}") from error
    if image is None:
        raise EnvironmentUnusableError(
            f"backend docker: the engine has no image {name}: run `bigcodeflow env build {config.environment} "
            "--backend docker`"
        )
    return environment_of(image, name, config.environment)


def backend(
    config: ExecutionConfig, environment: Environment, cores: float, _isolated: object, on_long: OnLong | None
) -> Backend:
    """Containers that may keep so many cores busy together; a host isolates, or refuses."""
    image = cast("RemoteEnvironment", environment).reference

    def open_transport() -> ContainerTransport:
        with ExitStack() as stack:
            engine = stack.enter_context(closing(DockerEngine.connect(config.docker.url)))
            settings = container_settings(engine, config, image=image, environment=environment.name, cores=cores)
            if engine.image(image) is None:  # another machine's engine may have had it
                raise HostRefusedError(f"the engine has no image {image}: build it there, or push and pull it")
            transport = ContainerTransport(engine, settings)
            stack.pop_all()  # the transport closes the engine from here on
        return transport

    def remove_orphans() -> None:
        with closing(DockerEngine.connect(config.docker.url)) as engine:
            engine.remove_orphans()

    hosts = config.docker.containers
    return RemoteBackend(config, open_transport, hosts=hosts, remove_orphans=remove_orphans, on_long=on_long)


SPEC = BackendSpec(environment, backend)
