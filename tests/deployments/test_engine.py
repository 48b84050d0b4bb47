"""The image of the services, built and run by a real engine; skipped where none can be had."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.deployments.files import DEPLOYMENTS
from tests.extensions.hosts.docker_engine import engine, import_base, lent

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3600)]

#: Runs a command in a new container that is started with further options.
Container = Callable[..., subprocess.CompletedProcess[str]]

TAG = "bigcodeflow-test"
#: What containers with sandboxes are started with, as docs/containers.md says it.
SANDBOXES = (
    "--cap-drop=ALL",
    "--read-only",
    "--tmpfs=/tmp",
    "--volume=/var/lib/bigcodeflow",
    "--security-opt=no-new-privileges",
    f"--security-opt=seccomp={DEPLOYMENTS / 'server' / 'seccomp.json'}",
    "--security-opt=systempaths=unconfined",
)
BWRAP = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Container:
    """The image of the services with the environment starter, on Debian with the Python that runs the tests."""
    found = engine()
    base_image = import_base(found, Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
    options = [f"--build-arg={name}={base_image}" for name in ("BASE_IMAGE", "SANDBOX_PYTHON_IMAGE")]
    options += [f"--secret=id={name},src={path}" for name, path in lent(tmp_path_factory.mktemp("lent")).items()]
    built = found.docker(
        *("build", "--network=host", *options, f"--file={ROOT / 'deployments/server/Dockerfile'}"),
        *(f"--tag={TAG}", str(ROOT)),
    )
    assert built.returncode == 0, built.stderr[-4000:]
    return lambda options, *command: found.docker("run", "--rm", "--network=none", *options, TAG, *command)


def test_an_engines_defaults_forbid_sandboxes(container: Container) -> None:
    """Each of the two options is needed, and the reason is the documented one."""
    filtered = container([option for option in SANDBOXES if "seccomp=" not in option], *BWRAP)
    assert "No permissions to create new namespace" in filtered.stderr
    masked = container([option for option in SANDBOXES if "systempaths" not in option], *BWRAP)
    assert "Can't mount proc" in masked.stderr
    assert container(SANDBOXES, *BWRAP).returncode == 0
    doctor = container((), "bigcodeflow", "doctor", "--quiet")
    assert doctor.returncode == 1
    assert "docs/containers.md" in " ".join(doctor.stdout.replace("│", " ").split())


def test_doctor_finds_all_layers_within_the_container(container: Container) -> None:
    """The sandbox is a full one: namespaces, filter, no privileges, warm start."""
    report = " ".join(container([*SANDBOXES, "--env=COLUMNS=400"], "bigcodeflow", "doctor").stdout.split())
    for layer in ("user namespace", "network namespaces", "seccomp filter", "no capabilities", "warm start"):
        assert layer in report


def test_a_starter_run_is_judged_in_the_container(container: Container) -> None:
    """Canonical solutions pass: stages, Dask and sandboxes work without network, root or a writable system."""
    settings = ("dataset.ids=0-1", "samples.source=oracle", "execution.variants=[calibrated]", "out=out")
    chosen = " ".join(f"--set {setting}" for setting in settings)
    command = f"bigcodeflow run starter --no-prefect {chosen} >&2 && cat out/*_pass_at_k.json"
    done = container(SANDBOXES, "sh", "-c", command)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout)["pass@1"] == 1.0


def test_the_container_holds_no_secret_and_no_root(container: Container) -> None:
    """It runs as user 1001, and what a build is lent for fetching packages is not in it."""
    done = container((), "sh", "-c", "id -u; ls -d /run/secrets /etc/pip.conf /etc/uv/* 2>/dev/null; true")
    assert done.stdout.split() == ["1001"]
