"""The script that installs or names system packages, on systems with other package managers."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deployments.files import DEPLOYMENTS

_SCRIPT = DEPLOYMENTS / "system-packages.sh"


def _run(folder: Path, *, system: str = "Linux", manager: str = "") -> subprocess.CompletedProcess[str]:
    """The script where nothing else is installed than a shell's tools and this package manager."""
    for tool in ("sh", "sed", "id"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    for name, text in {"uname": f"echo {system}", manager: "exit 1"}.items():
        if name:
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
    return subprocess.run(
        [folder / "sh", _SCRIPT], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("dnf", "dnf install bubblewrap util-linux iproute zip unzip procps-ng gcc gcc-c++ python3"),
        ("zypper", "zypper install bubblewrap util-linux iproute2 zip unzip procps gcc gcc-c++ python3"),
        ("pacman", "pacman -S bubblewrap util-linux iproute2 zip unzip procps-ng gcc gcc python"),
        ("", "apt-get install bubblewrap util-linux iproute2 zip unzip procps gcc g++ python3-venv"),
    ],
)
def test_missing_programs_are_named_as_the_system_calls_them(tmp_path: Path, manager: str, command: str) -> None:
    done = _run(tmp_path, manager=manager)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"Install them first: sudo {command}"


def test_macos_needs_none(tmp_path: Path) -> None:
    """Sandboxes run elsewhere there."""
    done = _run(tmp_path, system="Darwin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
