"""A container engine of the tests' own, with the real image of the environment starter."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import docker
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.environments import load_definition
from bigcodeflow.environments.images import build_image, image_tag
from bigcodeflow.execution.remote import docker_engine as ours

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_BASE = "bigcodeflow-test-base:latest"
_START_SECONDS = 60
#: Debian's client carries BuildKit itself; one that was put before it may want a plugin for that.
_PROGRAMS = "/usr/sbin:/usr/bin"


class Engine(NamedTuple):
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
        client = self.client()
        try:
            return [one["Id"] for one in client.containers(all=True, filters={"label": "bigcodeflow.owner"})]
        finally:
            client.close()

    def inside(self, container: str, command: str) -> str:
        """What a command in a shell of a running container prints."""
        client = self.client()
        try:
            made = client.exec_create(container, ["sh", "-c", command])
            return client.exec_start(made["Id"]).decode()
        finally:
            client.close()


def engine() -> Engine:
    """The engine that BIGCODEFLOW_TEST_ENGINE names, or one that is started and filled for this session.

    That takes root, dockerd and debootstrap, and minutes; without them tests are skipped.
    """
    told = os.environ.get("BIGCODEFLOW_TEST_ENGINE")
    found = Engine(told) if told else _own()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def _own() -> Engine | str:
    path = f"{_PROGRAMS}:{os.environ['PATH']}"
    missing = [name for name in ("dockerd", "docker", "debootstrap") if not shutil.which(name, path=path)]
    if missing or os.geteuid() != 0:
        return f"no container engine can be started: {', '.join(missing) or 'root'} is missing"
    folder = Path(tempfile.mkdtemp(prefix="bigcodeflow-engine-"))
    socket = folder / "docker.sock"
    command = ["setpriv", "--pdeathsig", "TERM", "dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false"]
    command += [f"--host=unix://{socket}", f"--data-root={folder}/data", f"--exec-root={folder}/run"]
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            [*command, f"--pidfile={folder}/pid"], stdout=log, stderr=log, env=os.environ | {"PATH": path}
        )
    atexit.register(_end, daemon, folder)
    found = Engine(f"unix://{socket}")
    if not _answers(found, daemon):
        return f"dockerd does not start here: {(folder / 'dockerd.log').read_text()[-300:]}"
    try:
        _import_base(found, folder, path)
    except subprocess.CalledProcessError as error:
        return f"no base image can be made here: {error}"
    build_starter(found, folder, path=path)
    return found


def _answers(found: Engine, daemon: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and daemon.poll() is None:
        try:
            ours._probe(found.url)  # Docker's client leaves a socket open where nothing answers
            found.client().close()
        except (OSError, docker.errors.DockerException):
            time.sleep(0.2)
        else:
            return True
    return False


def _import_base(found: Engine, folder: Path, path: str) -> None:
    """Bare Debian is the base: the Dockerfile brings Debian's own Python, as it does on a base with another one."""
    root = folder / "root"
    environ = os.environ | {"PATH": path, "DOCKER_HOST": found.url}
    made = ["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", str(root)]
    subprocess.run(made, check=True, env=environ, stdout=subprocess.DEVNULL)
    packed = f"tar -C {root} --numeric-owner -c . | docker import --change 'ENV PATH={_PROGRAMS}:/sbin:/bin' - {_BASE}"
    subprocess.run(packed, shell=True, check=True, env=environ, stdout=subprocess.DEVNULL)
    shutil.rmtree(root)


def build_starter(found: Engine, folder: Path, *, path: str = "", tag: str = "", base_image: str = _BASE) -> list[str]:
    """Build the real image, as `bigcodeflow env build` does; the lines that were said."""
    said: list[str] = []
    before = os.environ["PATH"]
    os.environ["PATH"] = path or f"{_PROGRAMS}:{before}"
    try:
        build_image(
            load_definition("starter"),
            say=said.append,
            url=found.url,
            base_image=base_image,
            tag=tag or image_tag("starter"),
            secrets=_lent(folder),
            network="host",
        )
    finally:
        os.environ["PATH"] = before
    return said


def _lent(folder: Path) -> Mapping[str, Path]:
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
