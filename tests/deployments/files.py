"""What the files of deployments/ say, read once for all tests of this room."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.conftest import ROOT

DEPLOYMENTS = ROOT / "deployments"
DOCKERFILES = sorted(DEPLOYMENTS.glob("*/Dockerfile"))
GUIDE = (ROOT / "docs" / "containers.md").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOYMENTS / "compose.yaml").read_text())


class Instruction(NamedTuple):
    """One instruction of a Dockerfile, its continued lines joined."""

    name: str
    text: str
    comment: str
    """The comment line right above."""


def instructions(dockerfile: Path) -> list[Instruction]:
    """The instructions of a Dockerfile in order."""
    found: list[Instruction] = []
    comment, joined = "", ""
    for line in dockerfile.read_text().splitlines():
        if not joined and line.startswith("#"):
            comment = line
            continue
        joined += line.removesuffix("\\")
        if not line.endswith("\\"):
            if joined.strip():
                name, _, text = joined.partition(" ")
                found.append(Instruction(name, text.strip(), comment))
            comment, joined = "", ""
    return found


def arguments_of(dockerfile: Path) -> dict[str, str]:
    """Build arguments with their defaults."""
    return dict(item.text.split("=", 1) for item in instructions(dockerfile) if item.name == "ARG")


def pinned_version(package: str) -> str:
    """The version that requirements.lock gives a package."""
    found = re.search(rf"^{re.escape(package)}==([^ ;]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert found, f"{package} is not in requirements.lock"
    return found.group(1)


def program(name: str) -> str:
    """Path of a checking program, which a wheel may have put beside the interpreter; skips the test without it."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def assert_command_exists(command: Sequence[str]) -> None:
    """A command of an image names a program, a subcommand and options that the installed packages have."""
    text = _help(tuple(_subcommands(command)))
    for word in command:
        if word.startswith("--"):
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), f"{word} is no option of: {text}"


def _subcommands(command: Sequence[str]) -> Iterator[str]:
    """The leading words that are no option and no value: all programs here take options last."""
    known = {"bigcodeflow", "dask", "deploy", "doctor", "prefect", "scheduler", "server", "worker", "work-pool"}
    known |= {"work-queue", "start", "create", "set-concurrency-limit"}
    for word in command:
        if word.startswith("--"):
            continue
        if word not in known:
            return
        yield word


@cache
def _help(words: tuple[str, ...]) -> str:
    command = [Path(sys.executable).with_name(words[0]), *words[1:], "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    return done.stdout
