"""Backend docker, for Docker or Podman: each host runs in a container without network, root and capabilities."""

import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, Self, cast

import docker  # type: ignore[import-untyped]
import requests
from docker.errors import DockerException, NotFound  # type: ignore[import-untyped]
from docker.utils import kwargs_from_env, version_lt  # type: ignore[import-untyped]

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.core.paths import shipped
from bigcodeflow.judge.backend_registry import BackendSpec, OnLong
from bigcodeflow.judge.environments import Environment, RemoteEnvironment
from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.remote.backend import HostLostError, HostRefusedError
from bigcodeflow.judge.remote.protocol import whole_lines
from bigcodeflow_hosts.hosts import RemoteBackend, is_orphan, machine_id, process_id
from bigcodeflow_hosts.images import environment_of, image_tag

#: API version of Docker 20.10 and Podman 4; older versions cannot unmask the paths of /proc that a sandbox needs.
_OLDEST_API = "1.40"
_CALL_SECONDS = 60
#: Share of the machine's memory that all containers get together.
_MEMORY_SHARE = 0.9
#: Limits of each process. By default Docker gives its service's limits, which may be more than Podman can give.
_ULIMITS = {"core": 0, "nofile": 16_384}
_LABEL = "bigcodeflow.owner"
#: Numbers of the multiplexed streams of an attached container, and the header of each of their frames.
_STDOUT, _STDERR = 1, 2
_HEADER = struct.Struct(">BxxxL")
#: A host sends ``alive`` every 5 s; a host that sends or accepts nothing for this long is lost.
_SILENCE_SECONDS = 120.0


class DockerEngine:
    """Connection to a container engine (Docker or Podman), for use by a single thread."""

    def __init__(self, client: Any, url: str) -> None:
        self.client, self._url = client, url
        self.version: Mapping[str, Any] = client.version()

    @classmethod
    def connect(cls, url: str) -> Self:
        """Connect to the container engine at ``url``; if that is empty, use DOCKER_HOST or Docker's default socket."""
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
            raise HostRefusedError(f"the container engine runs {system} containers: switch it to linux containers")
        raise HostRefusedError(
            f"the container engine has version {version} of Docker's API, and {_OLDEST_API} is needed: update it to "
            "Docker 20.10, Podman 4 or newer"
        )

    def image(self, name: str) -> Mapping[str, Any] | None:
        """Return the description of the image with a name or id, or None if the container engine has no such image."""
        with engine_errors("inspect the image"), suppress(NotFound):
            return cast("Mapping[str, Any]", self.client.inspect_image(name))
        return None

    def info(self, *, runtime: str) -> Mapping[str, Any]:
        """Return facts about container engine and machine; raise HostRefusedError if the engine lacks ``runtime``."""
        with engine_errors("describe itself"):
            found: Mapping[str, Any] = self.client.info()
        known = sorted(found.get("Runtimes") or {})
        if runtime and runtime not in known:
            raise HostRefusedError(
                f"execution.docker.runtime is {runtime}, and the engine knows {', '.join(known)}: install it and add "
                "it to the container engine's configuration, or leave execution.docker.runtime empty"
            )
        return found

    def remove_orphans(self) -> None:
        """Remove containers whose owner, a process of this machine, has ended; such containers were never started."""
        with engine_errors("list containers"):
            found = self.client.containers(all=True, filters={"label": _LABEL})
        for container in found:
            machine, _, process = container["Labels"][_LABEL].partition("/")
            if is_orphan(machine, process):
                self.remove(container["Id"])

    def remove(self, container: str) -> None:
        """End and remove a container; do nothing if the container or the container engine is gone."""
        with suppress(DockerException, requests.RequestException, OSError):
            _probe(self._url)
            self.client.remove_container(container, force=True)

    def exit_code(self, container: str) -> str:
        """Return a removed container's exit code, from the container engine's events; '' if no event states it."""
        with suppress(DockerException, requests.RequestException, OSError, ValueError, KeyError):
            _probe(self._url)
            until = int(time.time() + 3)
            for event in self.client.events(since=1, until=until, filters={"container": container}, decode=True):
                if event.get("Action", event.get("status")) in ("die", "died"):
                    return str(event["Actor"]["Attributes"].get("exitCode", ""))
        return ""

    def close(self) -> None:
        self.client.close()


def _probe(url: str) -> None:
    """Connect to a Unix socket, to raise its error early: Docker's client would leave a socket open at an error."""
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(_CALL_SECONDS)
            tried.connect(url.removeprefix("unix://"))


@contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Convert errors of Docker's client: HostRefusedError if Docker or Podman refused the call, else HostLostError."""
    try:
        yield
    except DockerException as error:
        raise HostRefusedError(f"the container engine could not {action}: {_brief(error)}") from error
    except (requests.RequestException, OSError) as error:
        raise HostLostError(f"the container engine could not {action}: {_brief(error)}") from error


def share_of(config: ExecutionConfig, cores: float, info: Mapping[str, Any]) -> tuple[float, int]:
    """Return cores and MiB of each container; raise HostRefusedError if its share is below a sample's memory limit."""
    containers = config.docker.containers
    memory_mib = config.docker.memory_mib or int(info["MemTotal"] / 2**20 * _MEMORY_SHARE / containers)
    divided = config.docker.memory_mib or containers > 1  # else the machine itself is small
    if divided and memory_mib < config.limits.memory_mib:  # the container would kill samples within their limits
        raise HostRefusedError(
            f"a container would have {memory_mib} MiB, but one sample may use {config.limits.memory_mib} MiB: raise "
            "execution.docker.memory_mib, or lower execution.docker.containers or execution.limits.memory_mib"
        )
    return max(1.0, min(cores, info["NCPU"]) / containers), memory_mib


def container_settings(
    engine: DockerEngine, config: ExecutionConfig, *, image: str, environment: str, cores: float
) -> dict[str, Any]:
    """Return the settings for a host's container, in the form that Docker's API takes."""
    info = engine.info(runtime=config.docker.runtime)
    share_cores, memory_mib = share_of(config, cores, info)
    host = ["python", "-m", "bigcodeflow.judge.remote.host", "--environment", environment]
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
        "Cmd": [*host, "--cores", str(int(share_cores)), "--slots-per-core", str(config.slots_per_worker)],
        "User": "1000:1000",
        "Labels": {_LABEL: f"{machine_id()}/{process_id()}"},
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,  # the host's input ends with the attached client, however the client ended
        "HostConfig": runtime
        | {
            "AutoRemove": True,
            "ReadonlyRootfs": True,
            "NetworkMode": "none",
            "IpcMode": "private",
            "Tmpfs": {"/tmp": "rw,exec,nosuid,nodev,mode=1777,size=1024m"},  # noqa: S108
            "Memory": memory_mib * 2**20,
            "MemorySwap": memory_mib * 2**20,
            "PidsLimit": config.docker.processes,
            "Ulimits": [{"Name": name, "Soft": most, "Hard": most} for name, most in _ULIMITS.items()],
            "NanoCpus": int(share_cores * 1e9),
            "CapDrop": ["ALL"],
            "SecurityOpt": security,
            # The kernel lets a sandbox mount its own /proc only if the container's /proc has no masks. Without
            # capabilities no file that Docker masks can be written, and each sandbox masks files about the machine.
            "MaskedPaths": [],
            "ReadonlyPaths": [],
            "LogConfig": {"Type": "none"},  # outcomes pass through standard output, and would fill the engine's disk
        },
    }


def _brief(error: Exception) -> str:
    return " ".join(str(getattr(error, "explanation", "") or error).split())[:300]


class ContainerTransport:
    """Connection to a host in a container; ``close`` and the end of this process also end the container."""

    def __init__(self, engine: DockerEngine, settings: Mapping[str, Any]) -> None:
        """Create, attach and start the container, or raise HostLostError; ``close`` also closes ``engine``."""
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
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise HostLostError(f"{self.label} is lost: nothing can be sent to it ({error})") from error

    def lines(self) -> Iterator[bytes]:
        """Yield the host's lines until the container ends; then raise HostLostError with the reason."""
        yield from whole_lines(self._output())
        reason = "it ended"
        if not self._closed:
            code = self._engine.exit_code(self._id)
            reason += f" with exit {code}" if code else ""
            if code == "137":  # 128 and SIGKILL
                reason += ", killed from outside, or for using more than execution.docker.memory_mib"
            last = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
            reason = ": ".join((reason, *last))
        raise HostLostError(reason)

    def _output(self) -> Iterator[bytes]:
        with suppress(OSError, ValueError):  # it was closed in the meantime, at either end
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
        self._closed = True
        self._opened.close()


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """Return the environment in the configured image, after a check that container engine, runtime and image exist."""
    name = config.docker.image or image_tag(config.environment)
    try:
        with closing(DockerEngine.connect(config.docker.url)) as engine:
            engine.info(runtime=config.docker.runtime)
            image = engine.image(name)
    except (HostLostError, HostRefusedError) as error:
        raise SandboxUnavailableError(f"backend docker: {error}") from error
    if image is None:
        raise EnvironmentUnusableError(
            f"backend docker: the container engine has no image {name}: run `bigcodeflow env build "
            f"{config.environment} --backend docker`"
        )
    return environment_of(image, name, config.environment)


def backend(
    config: ExecutionConfig, environment: Environment, cores: float, _isolated: object, on_long: OnLong | None
) -> Backend:
    """Make a backend whose containers use at most ``cores`` cores in all; hosts unable to isolate samples refuse."""
    image = cast("RemoteEnvironment", environment).reference

    def open_transport() -> ContainerTransport:
        with ExitStack() as stack:
            engine = stack.enter_context(closing(DockerEngine.connect(config.docker.url)))
            settings = container_settings(engine, config, image=image, environment=environment.name, cores=cores)
            if engine.image(image) is None:  # the image may be on another machine only
                raise HostRefusedError(f"the container engine has no image {image}: build it or pull it there")
            transport = ContainerTransport(engine, settings)
            stack.pop_all()  # the transport closes the engine from here on
        return transport

    def remove_orphans() -> None:
        with closing(DockerEngine.connect(config.docker.url)) as engine:
            engine.remove_orphans()

    hosts = config.docker.containers
    return RemoteBackend(config, open_transport, hosts=hosts, remove_orphans=remove_orphans, on_long=on_long)


SPEC = BackendSpec(environment, backend)
