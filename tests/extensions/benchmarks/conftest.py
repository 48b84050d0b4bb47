"""Commands in a folder of their own, and own tasks in the row formats of other benchmarks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Command, command_in
from tests.conftest import ROOT


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line, with a store and kept conversions of its own; built environments stay in their cache."""
    monkeypatch.setattr("bigcodeflow.datasets.benchmarks.cache_folder", lambda: tmp_path / "cache")
    return command_in(tmp_path)


@pytest.fixture(scope="session")
def own_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with scripts, methods, contexts and their answers."""
    folder = tmp_path_factory.mktemp("own")
    subprocess.run([sys.executable, ROOT / "data/benchmarks/build.py", folder], check=True)
    return folder
