"""A container engine of the tests' own, with real images of environments."""

import atexit
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import docker
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.judge.backend_registry import execution_environment
from bigcodeflow.judge.environments import load_definition
from bigcodeflow_hosts import docker as ours
from bigcodeflow_hosts.images import build_image
from tests.serving.services import until

logger = logging.getLogger(__name__)

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_START_SECONDS = 60
_PROGRAMS = "/usr/sbin:/usr/bin"
#: Debian's packages that the official images of Python have for its standard library.
_PYTHONS_LIBRARIES = (
    *("libbz2-1.0", "libffi8", "liblzma5", "libreadline8", "libsqlite3-0", "libssl3", "libuuid1", "netbase", "tzdata"),
    "zlib1g",
)


@contextmanager
def _debian_first() -> Iterator[None]:
    """Debian's client of Docker carries BuildKit itself; one that was put before it may want a plugin for that."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", f"{_PROGRAMS}:{os.environ['PATH']}")
        yield


class DockerEngine(NamedTuple):
    """Where an engine answers that has the image of the environment starter."""

    url: str

    def config(self, **options: object) -> ExecutionConfig:
        """A configuration of the backend docker there."""
        return ExecutionConfig.model_validate({"backend": "docker", "docker": {"url": self.url} | options})

    def client(self) -> docker.APIClient:
        """The engine's own API."""
        return docker.APIClient(base_url=self.url, version="auto")

    def containers(self) -> list[str]:
        """Ids of all containers that a backend made."""
        with closing(self.client()) as client:
            return [one["Id"] for one in client.containers(all=True, filters={"label": "bigcodeflow.owner"})]

    def kill(self, container: str) -> None:
        """End a container from outside."""
        with closing(self.client()) as client:
            client.kill(container)

    def image(self, config: ExecutionConfig) -> Mapping[str, Any]:
        """What the engine says of the image that a configuration finds there."""
        with closing(self.client()) as client:
            return client.inspect_image(execution_environment(config).reference)

    @_debian_first()
    def docker(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """What Docker's command line does there."""
        command = ["docker", "--host", self.url, *arguments]
        variables = os.environ | {"DOCKER_BUILDKIT": "1"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)

    def inside(self, container: str, command: str) -> str:
        """What a command in a shell of a running container prints; repeated where the engine lost all of it."""
        output = ""
        with closing(self.client()) as client:
            for _ in range(3):  # of a process that ends at once an engine may send nothing
                made = client.exec_create(container, ["sh", "-c", f"exec 2>&1\n{command}\necho '(ended)'"])
                output = client.exec_start(made["Id"]).decode()
                if output:
                    break
        return output.removesuffix("(ended)\n")


def engine() -> DockerEngine:
    """The engine that BIGCODEFLOW_TEST_ENGINE names, or one that is started and filled for this session.

    That takes root, dockerd and debootstrap, and minutes; without them tests are skipped.
    """
    address = os.environ.get("BIGCODEFLOW_TEST_ENGINE")
    found = DockerEngine(address) if address else _own()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
@_debian_first()
def _own() -> DockerEngine | str:
    missing = [name for name in ("dockerd", "docker", "debootstrap") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        return f"no container engine can be started: {', '.join(missing) or 'root'} is missing"
    folder = Path(tempfile.mkdtemp(prefix="bigcodeflow-engine-"))
    socket = folder / "docker.sock"
    command = ["setpriv", "--pdeathsig", "TERM", "dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false"]
    command += [f"--host=unix://{socket}", f"--data-root={folder}/data", f"--exec-root={folder}/run"]
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen([*command, f"--pidfile={folder}/pid"], stdout=log, stderr=log)
    atexit.register(_end, daemon, folder)
    found = DockerEngine(f"unix://{socket}")
    if not until(lambda: _answers(found) or daemon.poll() is not None, _START_SECONDS) or daemon.poll() is not None:
        return f"dockerd does not start here: {(folder / 'dockerd.log').read_text()[-300:]}"
    try:
        base_image = import_base(found)
    except subprocess.CalledProcessError as error:
        return f"no base image can be made here: {error}"
    build(found, "starter", base_image)
    return found


def _answers(found: DockerEngine) -> bool:
    try:
        ours._probe(found.url)  # Docker's client leaves a socket open where nothing answers
        found.client().close()
    except (OSError, docker.errors.DockerException):
        return False
    return True


@_debian_first()
def import_base(found: DockerEngine, python: Path | None = None) -> str:
    """The name of a base image that is made of bare Debian, to which the Dockerfile brings Debian's own Python.

    Args:
        found: the engine that gets it.
        python: an interpreter of this machine; with it and its library in /usr/local, as the official images have it.
    """
    tag = f"bigcodeflow-test-base:{python.name if python else 'debian'}"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        packages = ",".join(["ca-certificates", *(_PYTHONS_LIBRARIES if python else ())])
        made = ["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(root)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        if python:
            shutil.copytree(python.parents[1], root / "usr" / "local", symlinks=True, dirs_exist_ok=True)
            subprocess.run(["ldconfig", "-r", root], check=True)
        path = f"/usr/local/bin:{_PROGRAMS}:/sbin:/bin"
        filled = f"docker --host {found.url} import --change 'ENV PATH={path}' - {tag}"
        packed = f"tar -C {root} --numeric-owner -c . | {filled}"
        subprocess.run(packed, shell=True, check=True, stdout=subprocess.DEVNULL)
    return tag


@_debian_first()
def build(found: DockerEngine, environment: str, base_image: str, data_folder: Path | None = None) -> None:
    """Build the real image, as `bigcodeflow env build` does; what it says is logged, for pytest to show if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        build_image(
            load_definition(environment),
            on_line=logger.info,
            url=found.url,
            base_image=base_image,
            data_folder=data_folder,
            secrets=lent(Path(folder)),
            network="host",
        )


def lent(folder: Path) -> Mapping[str, Path]:
    """Where this machine's pip and uv find packages, and which certificates it trusts."""
    pip, uv = folder / "pip.conf", folder / "uv.toml"
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    pip.write_text(f"[global]\ncert = {_CERTIFICATES}\n" + (f"index-url = {index}\n" if index else ""))
    uv.write_text("native-tls = true\n" + (f'index-url = "{index}"\n' if index else ""))
    lent = {"pip": pip, "uv": uv}
    return lent | ({"certificates": _CERTIFICATES} if _CERTIFICATES.is_file() else {})


def _end(daemon: "subprocess.Popen[bytes]", folder: Path) -> None:
    daemon.terminate()
    try:
        daemon.wait(30)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((one for one in mounted if one.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", place], check=False)
    shutil.rmtree(folder, ignore_errors=True)
