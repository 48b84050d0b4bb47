"""The starter set as it is on disk, its build script, and what its tasks do in the starter environment."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

STARTER = Path(__file__).parents[2] / "data" / "starter"
MEASURE = Path(__file__).with_name("measure.py")


@pytest.fixture(scope="session")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("starter_build", STARTER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["starter_build"] = module
    spec.loader.exec_module(module)
    return module


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (STARTER / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def tasks() -> list[dict]:
    return rows("tasks.jsonl")


@pytest.fixture(scope="session")
def answers() -> list[dict]:
    return rows("answers.jsonl")


def measured(python: Path, work: Path, mode: str) -> dict[str, dict]:
    command = [str(python), "-I", "-W", "error", str(MEASURE), str(STARTER / "tasks.jsonl"), str(work), mode]
    home = {"HOME": str(work), "MPLCONFIGDIR": str(work)}
    limits = {"TZ": "UTC", "OMP_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(command, env=home | limits, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((work / "report.json").read_text())


@pytest.fixture(scope="session")
def canonical_report(starter_python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    return measured(starter_python, tmp_path_factory.mktemp("canonical"), "canonical")


@pytest.fixture(scope="session")
def empty_report(starter_python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    return measured(starter_python, tmp_path_factory.mktemp("empty"), "empty")
