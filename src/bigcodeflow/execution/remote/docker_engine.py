"""An engine that speaks Docker's API, Docker itself or Podman: what it has, and how a container for a host is made."""

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

import docker  # type: ignore[import-untyped]
import requests
from docker.errors import DockerException, NotFound  # type: ignore[import-untyped]
from docker.utils import kwargs_from_env, version_lt  # type: ignore[import-untyped]

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.paths import shipped
from bigcodeflow.execution.remote import owners
from bigcodeflow.execution.remote.transports import HostLostError, HostRefusedError

#: Of Docker 20.10 and Podman 4; older ones do not take the paths of /proc that a sandbox needs unmasked.
_OLDEST_API = "1.40"
_CALL_SECONDS = 60
_SECONDS_TO_DIE = 3.0
_OWN_SOCKET = "unix:///var/run/docker.sock"
#: Part of the machine's memory that containers share out.
_MEMORY_SHARE = 0.9
_TEMPORARY_MIB = 1024
#: Of each process. An engine's own are those of its service, and more than Podman may always give.
_ULIMITS = {"core": 0, "nofile": 16_384}
_LABEL = "bigcodeflow.owner"
_HOST = ("python", "-m", "bigcodeflow.execution.remote.host")


class Share(NamedTuple):
    """What one container of several may use."""

    cores: float
    memory_mib: int


class DockerEngine:
    """A connection to an engine; for one thread."""

    def __init__(self, client: Any, url: str) -> None:
        self.client, self._url = client, url
        self.version: Mapping[str, Any] = client.version()

    @classmethod
    def connect(cls, url: str) -> Self:
        """Reach the engine at an address; empty takes DOCKER_HOST, or Docker's own socket.

        Raises:
            HostLostError: nothing answers there.
            HostRefusedError: it cannot be used.
        """
        options = {"base_url": _OWN_SOCKET} | kwargs_from_env() | ({"base_url": url} if url else {})
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
        try:
            engine._require_usable()
        except HostRefusedError:
            engine.close()
            raise
        return engine

    def _require_usable(self) -> None:
        if self.version.get("Os") != "linux":
            raise HostRefusedError(f"the engine runs {self.version.get('Os')} containers, and sandboxes need linux")
        if version_lt(self.version["ApiVersion"], _OLDEST_API):
            raise HostRefusedError(
                f"the engine speaks version {self.version['ApiVersion']} of Docker's API, and {_OLDEST_API} is needed: "
                "update it to Docker 20.10, Podman 4 or newer"
            )

    @property
    def is_podman(self) -> bool:
        """Whether it is Podman, which words a few options in its own way."""
        return any("Podman" in part.get("Name", "") for part in self.version.get("Components") or ())

    def require_image(self, name: str) -> None:
        """Refuse to go on without an image that another machine's engine may have had.

        Raises:
            HostRefusedError: it is not here.
        """
        if self.image(name) is None:
            raise HostRefusedError(f"the engine has no image {name}: build it there, or push and pull it")

    def image(self, name: str) -> Mapping[str, Any] | None:
        """What the engine says of an image; None where it has none of that name or id."""
        with engine_errors("inspect the image"):
            try:
                found: Mapping[str, Any] = self.client.inspect_image(name)
            except NotFound:
                return None
        return found

    def info(self) -> Mapping[str, Any]:
        """What the engine says of itself and its machine."""
        with engine_errors("describe itself"):
            found: Mapping[str, Any] = self.client.info()
        return found

    def remove_orphans(self) -> None:
        """Remove containers whose owner, a process of this machine, was killed before it could start them."""
        with engine_errors("list containers"):
            found = self.client.containers(all=True, filters={"label": _LABEL})
        for container in found:
            machine, _, process = container["Labels"][_LABEL].partition("/")
            if owners.is_orphan(machine, process):
                self.remove(container["Id"])

    def remove(self, container: str) -> None:
        """End and remove a container; quiet where it has gone already, or the engine has."""
        with suppress(DockerException, requests.RequestException, OSError):
            _probe(self._url)
            self.client.remove_container(container, force=True)

    def exit_code(self, container: str) -> str:
        """How a container ended that the engine has removed since, from its events; empty where it does not say."""
        try:
            _probe(self._url)
            until = int(time.time() + _SECONDS_TO_DIE)
            events = self.client.events(since=1, until=until, filters={"container": container}, decode=True)
            for event in events:
                if event.get("Action", event.get("status")) in ("die", "died"):
                    return str(event["Actor"]["Attributes"].get("exitCode", ""))
        except (DockerException, requests.RequestException, OSError, ValueError, KeyError):
            return ""
        return ""

    def close(self) -> None:
        """Give its connections back."""
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _probe(url: str) -> None:
    """Connect once to a socket of this machine; Docker's client leaves its own open where that fails."""
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(_CALL_SECONDS)
            tried.connect(url.removeprefix("unix://"))


@contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Turn the errors of Docker's client into ours.

    Raises:
        HostLostError: the engine does not answer.
        HostRefusedError: it answers with an error.
    """
    try:
        yield
    except DockerException as error:
        raise HostRefusedError(f"the engine could not {action}: {_brief(error)}") from error
    except (requests.RequestException, OSError) as error:
        raise HostLostError(f"the engine could not {action}: {_brief(error)}") from error


def require_runtime(runtime: str, info: Mapping[str, Any]) -> None:
    """Refuse a runtime that the engine does not know.

    Raises:
        HostRefusedError: it is not among the engine's.
    """
    known = sorted(info.get("Runtimes") or {})
    if runtime and runtime not in known:
        raise HostRefusedError(
            f"execution.docker.runtime is {runtime}, and the engine knows {', '.join(known)}: install it and name it "
            "in the engine's configuration, or leave execution.docker.runtime empty"
        )


def share_of(config: ExecutionConfig, cores: float, info: Mapping[str, Any]) -> Share:
    """Cores and memory of each container.

    Args:
        config: how many there are.
        cores: what all of them may keep busy.
        info: what the engine says of its machine, which need not be this one.

    Raises:
        HostRefusedError: a container would have less memory than one sample may use, and end what the limits allow.
    """
    containers = config.docker.containers
    memory_mib = config.docker.memory_mib or int(info["MemTotal"] / 2**20 * _MEMORY_SHARE / containers)
    divided = config.docker.memory_mib or containers > 1  # else it is as on any machine that is small
    if divided and memory_mib < config.limits.memory_mib:
        raise HostRefusedError(
            f"a container would have {memory_mib} MiB, and one sample may use {config.limits.memory_mib}: raise "
            "execution.docker.memory_mib, or lower execution.docker.containers or execution.limits.memory_mib"
        )
    return Share(max(1.0, min(cores, info["NCPU"]) / containers), memory_mib)


def container_settings(
    engine: DockerEngine,
    info: Mapping[str, Any],
    *,
    image: str,
    environment: str,
    config: ExecutionConfig,
    share: Share,
) -> dict[str, Any]:
    """What a host's container is created with, as Docker's API words it."""
    host = ["--environment", environment, "--cores", str(int(share.cores))]
    return {
        "Image": image,
        "Cmd": [*_HOST, *host, "--slots-per-core", str(config.slots_per_worker)],
        "User": "1000:1000",
        "Labels": {_LABEL: f"{owners.machine_id()}/{owners.process_id()}"},
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,  # the host's input ends with the client that was attached, however that ended
        "HostConfig": _host_settings(engine, info, config, share),
    }


def _host_settings(
    engine: DockerEngine, info: Mapping[str, Any], config: ExecutionConfig, share: Share
) -> dict[str, Any]:
    own = {"Runtime": config.docker.runtime} if config.docker.runtime else {}
    return own | {
        "AutoRemove": True,
        "ReadonlyRootfs": True,
        "NetworkMode": "none",
        "IpcMode": "private",
        "Tmpfs": {"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={_TEMPORARY_MIB}m"},  # noqa: S108 -- the container's
        "Memory": share.memory_mib * 2**20,
        "MemorySwap": share.memory_mib * 2**20,
        "PidsLimit": config.docker.processes,
        "Ulimits": [{"Name": name, "Soft": most, "Hard": most} for name, most in _ULIMITS.items()],
        "NanoCpus": int(share.cores * 1e9),
        "CapDrop": ["ALL"],
        "SecurityOpt": _security(engine, info),
        # The kernel shows a sandbox a /proc of its own only where nothing of the container's is masked. None of what
        # Docker masks can be written without capabilities, and each sandbox masks what tells of the machine.
        "MaskedPaths": [],
        "ReadonlyPaths": [],
        "LogConfig": {"Type": "none"},  # outcomes pass through standard output, and would fill the engine's disk
    }


def _security(engine: DockerEngine, info: Mapping[str, Any]) -> list[str]:
    profile = shipped("deployments/server/seccomp.json")
    if engine.is_podman:
        return ["no-new-privileges", f"seccomp={profile}", "unmask=ALL"]
    options = ["no-new-privileges", f"seccomp={profile.read_text()}"]
    if any("apparmor" in option for option in info.get("SecurityOptions") or ()):
        options.append("apparmor=unconfined")  # Docker's own profile forbids every mount
    return options


def _brief(error: Exception) -> str:
    return " ".join(str(getattr(error, "explanation", "") or error).split())[:300]
