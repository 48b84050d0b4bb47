"""A umask that closes new files to others: samples, which run as other users, read what they need all the same."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.environments.build import build_environment
from bigcodeflow.judge.environments.definition import EnvironmentDefinition
from bigcodeflow.judge.host import bubblewrap

_UID = 0x7000_1234


@pytest.fixture(autouse=True)
def _strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_a_built_environment_is_open_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGCODEFLOW_ENVIRONMENTS", str(tmp_path))
    definition = EnvironmentDefinition(name="small", description="nothing but Python", lock="", warm_up="import json")
    built = build_environment(definition, on_line=lambda _line: None)
    paths = [path for path in (built.root / "venv").rglob("*") if not path.is_symlink()]
    assert [path for path in paths if not path.stat().st_mode & 0o004] == []
    assert [path for path in paths if path.is_dir() and not path.stat().st_mode & 0o001] == []


@pytest.mark.sandbox
@pytest.mark.skipif(os.getuid() != 0, reason="for an ordinary user, sandboxes run as that user")
def test_the_harness_of_a_closed_checkout_is_read(
    tmp_path: Path, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "harness"
    closed.mkdir()
    for path in bubblewrap.HOST_HARNESS_FOLDER.glob("*.py"):
        shutil.copyfile(path, closed / path.name)
    monkeypatch.setattr(bubblewrap, "HOST_HARNESS_FOLDER", closed)
    options = {"environment": starter_environment, "limits": LimitsConfig(), "uid": _UID, "data_fds": {}}
    command = bubblewrap.command(**options, as_root=True)
    done = subprocess.run([*command[:-2], "-c", "import sys; sys.path.append('/harness'); import harness, os; print(os.getuid())"],
        capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stdout == f"{_UID}\n", done.stderr
