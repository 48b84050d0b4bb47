"""The compose file starts what exists, within bounds, and shows nothing to the network."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployments.files import COMPOSE, DEPLOYMENTS, GUIDE, arguments_of, assert_command_exists, program

SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("bigcodeflow:")]
SANDBOXES = ("worker", "dask-worker")
EXAMPLE = (DEPLOYMENTS / ".env.example").read_text()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if SERVICES[name]["command"][0] == "prefect" else ()) for name in OURS],
)
def test_commands_exist_in_the_image(name: str) -> None:
    """Program, subcommand and options are those of the installed packages; Python programs compile."""
    command = SERVICES[name]["command"]
    if command[:2] == ["python", "-c"]:
        compile(command[2], name, "exec")
    else:
        assert_command_exists(command)


@pytest.mark.parametrize("name", OURS)
def test_our_services_have_no_privilege_but_what_sandboxes_need(name: str) -> None:
    """Root file system read-only, no capability; those that execute may make namespaces, by a filter that exists."""
    service = SERVICES[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert not service.get("privileged")
    options = set(service["security_opt"])
    assert "no-new-privileges:true" in options
    needed = {"seccomp=server/seccomp.json", "systempaths=unconfined", "apparmor=unconfined"}
    assert (options >= needed) == (name in SANDBOXES)
    assert (DEPLOYMENTS / "server" / "seccomp.json").is_file()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_services_are_bounded_and_in_the_guide(name: str) -> None:
    """Pinned, with limits of memory and cores and a row in the guide; ports are bound to loopback only."""
    service = SERVICES[name]
    assert name in OURS or re.search(r":v?\d+\.\d+[\w.\-]*$", service["image"])
    assert f"`{name}`" in GUIDE
    assert service["mem_limit"]
    assert service["restart"] == "no" or service["cpus"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_refers_to_is_there(name: str) -> None:
    """Who is waited for can become healthy or end; a mount is a volume of the file or a path of the repository."""
    for other, wanted in SERVICES[name].get("depends_on", {}).items():
        if wanted["condition"] == "service_healthy":
            assert SERVICES[other]["healthcheck"]["test"]
        if wanted["condition"] == "service_completed_successfully":
            assert SERVICES[other]["restart"] == "no"
    for volume in SERVICES[name].get("volumes", []):
        source = volume.split(":")[0]
        assert source in COMPOSE["volumes"] or (DEPLOYMENTS / source).exists(), volume


def test_the_build_takes_arguments_that_exist() -> None:
    """Build arguments and their defaults are those of the Dockerfile."""
    build = SERVICES["server"]["build"]
    defaults = arguments_of(DEPLOYMENTS / build["context"] / build["dockerfile"])
    assert build["args"] == {name: f"${{{name}:-{defaults[name]}}}" for name in build["args"]}


def test_every_variable_is_in_the_example_and_secrets_are_empty_there() -> None:
    """What can be set is listed with its default; what must be set has none anywhere."""
    text = (DEPLOYMENTS / "compose.yaml").read_text()
    for name, required, default in re.findall(r"\$\{(\w+)(?::(?:(\?)|-([^}]*)))?[^}]*\}", text):
        expected = rf"^{name}=$" if required else rf"^#{name}={re.escape(default)}"
        if name != "ENVIRONMENTS":  # whose example is a longer list
            assert re.search(expected, EXAMPLE, re.MULTILINE), name
    for variable in re.findall(r"^#?(\w+)=", EXAMPLE, re.MULTILINE):
        assert f"{{{variable}" in text, f"{variable} is not read"


def test_compose_itself_accepts_the_file(tmp_path: Path) -> None:
    """Docker Compose resolves it with nothing but the three secrets set."""
    settings = tmp_path / "settings.env"
    settings.write_text(re.sub(r"^(\w+)=$", r"\1=given", EXAMPLE, flags=re.MULTILINE))
    command = [program("docker-compose"), "--env-file", settings, "--file", DEPLOYMENTS / "compose.yaml", "config"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) == set(SERVICES)
