"""What the backend docker decides before any container runs; needs no engine."""

import hashlib
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.judge.backend_registry import execution_environment
from bigcodeflow.judge.environments import load_definition
from bigcodeflow.judge.guest.protocol import HARNESS_VERSION
from bigcodeflow.judge.remote.backend import HostRefusedError
from bigcodeflow_hosts import docker as ours
from bigcodeflow_hosts.hosts import is_orphan, machine_id, process_id
from bigcodeflow_hosts.images import build_image, environment_of, image_tag

_MACHINE = {"NCPU": 8, "MemTotal": 16 << 30, "Runtimes": {"runc": {}, "crun": {}}}


def _config(**options: object) -> ExecutionConfig:
    return ExecutionConfig.model_validate({"backend": "docker", "docker": options})


def _labels(**changed: str) -> dict[str, str]:
    labels = {
        "environment": "starter",
        "version": image_tag("starter").rpartition(":")[2],
        "harness": str(HARNESS_VERSION),
        "definition_sha256": load_definition("starter").key,
        "environment_sha": "e" * 64,
        "lock_sha256": "1" * 64,
    }
    return {f"bigcodeflow.{name}": value for name, value in (labels | changed).items()}


def _image(**changed: str) -> dict[str, object]:
    return {"Id": "sha256:abc", "Config": {"Labels": _labels(**changed)}}


def test_no_engine_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    """Where nobody listens on a socket any more, where there is none, and at an address of another kind."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{tmp_path}/nobody.sock")
    with pytest.raises(SandboxUnavailableError, match="Connection refused"):
        execution_environment(_config(url=f"unix://{tmp_path}/nobody.sock"))
    (tmp_path / "nobody.sock").unlink()
    for url in (f"unix://{tmp_path}/nobody.sock", "nonsense://x", "tcp://127.0.0.1:1"):
        with pytest.raises(SandboxUnavailableError, match=f"engine answers at {url}.*start Docker or Podman"):
            execution_environment(_config(url=url))


def test_containers_share_cores_and_nine_tenths_of_the_memory() -> None:
    """Of the engine's machine, which need not be this one; a share is never less than a core."""
    assert ours.share_of(_config(), 4, _MACHINE) == (4.0, 14745)
    assert ours.share_of(_config(containers=2), 64, _MACHINE) == (4.0, 7372)
    assert ours.share_of(_config(containers=3), 2, _MACHINE)[0] == 1.0
    assert ours.share_of(_config(memory_mib=5000), 2, _MACHINE)[1] == 5000


def test_a_container_with_less_memory_than_a_sample_may_use_is_refused() -> None:
    """It would end what the limits allow; one container that has all of a small machine is as the machine itself."""
    for options in ({"containers": 4}, {"memory_mib": 4000}):
        with pytest.raises(HostRefusedError, match=r"one sample may use 4096 MiB: raise execution\.docker\.memory"):
            ours.share_of(_config(**options), 2, _MACHINE)
    assert ours.share_of(_config(), 2, _MACHINE | {"MemTotal": 2 << 30})[1] == 1843


def test_a_runtime_is_one_that_the_engine_knows() -> None:
    """None is the engine's own."""
    engine = ours.DockerEngine(Mock(**{"info.return_value": _MACHINE}), "")
    assert engine.info(runtime="") == engine.info(runtime="crun") == _MACHINE
    with pytest.raises(HostRefusedError, match="runtime is runsc, and the engine knows crun, runc: install it"):
        engine.info(runtime="runsc")


def test_an_environment_in_an_image_is_the_whole_image() -> None:
    """The same environment in another image is another one: programs beside Python decide verdicts too."""
    found = environment_of(_image(), "one", "starter")
    expected = hashlib.sha256(f"{'e' * 64} sha256:abc".encode()).hexdigest()
    assert (found.name, found.environment_sha, found.reference) == ("starter", expected, "sha256:abc")
    assert found.lock_sha256 == "1" * 64
    assert environment_of(_image() | {"Id": "sha256:abd"}, "one", "starter").environment_sha != expected


@pytest.mark.parametrize("label", ["environment", "version", "harness", "definition_sha256"])
def test_an_image_of_something_else_is_refused(label: str) -> None:
    """By the label that differs, with what it has, what is needed and what to do."""
    with pytest.raises(EnvironmentUnusableError, match=f"image one has {label} other, and .* env build starter"):
        environment_of(_image(**{label: "other"}), "one", "starter")
    with pytest.raises(EnvironmentUnusableError, match="has environment none"):
        environment_of({"Id": "sha256:abc", "Config": {"Labels": None}}, "one", "starter")


def test_a_container_is_an_orphan_when_its_process_is_gone() -> None:
    """Not while it runs, not when another process has its number, not where its machine is another one."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        machine, process = machine_id(), process_id(owner.pid)
        assert not is_orphan(machine, process)
        pid, start = process.split("-")
        assert is_orphan(machine, f"{pid}-{int(start) - 1}")
    assert is_orphan(machine, process)
    assert not is_orphan(f"another-boot-{machine}", process)
    assert not is_orphan(machine, "somebody else's label")


def test_without_a_client_no_image_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is missing is named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnusableError, match="podman is not installed here"):
        build_image(load_definition("starter"), on_line=print)


def test_a_build_that_fails_tells_the_cause(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the client's own words, before BuildKit's summary, which repeats the whole step and is longer than the error."""
    step = "RUN " + "install && " * 300
    lines = ["#18 11.3 error: limits.h: no such file", f"#18 ERROR: failed running {step}", "------", f" > {step}"]
    echoes = [f"echo '{line}' >&2" for line in (*lines, "------", step)]
    client = tmp_path / "docker"
    client.write_text("\n".join(["#!/bin/sh", 'echo "asked: $*"', *echoes, "exit 3", ""]))
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    said: list[str] = []
    options = {"url": "unix:///x", "secrets": {"pip": tmp_path}, "rebuild": True}
    with pytest.raises(EnvironmentUnusableError, match=r"could not be built \(docker build\).*limits\.h: no such file"):
        build_image(load_definition("bigcodebench"), on_line=said.append, **options)
    assert step.rstrip() in said[-1]
    for part in (
        "--host unix:///x build",
        "--build-arg=BASE_IMAGE=python:3.10.",
        f"id=pip,src={tmp_path}",
        "--no-cache",
    ):
        assert part in said[0]
