"""The starter set as it is on disk, and its build script."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

STARTER = Path(__file__).parents[2] / "data" / "starter"


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
