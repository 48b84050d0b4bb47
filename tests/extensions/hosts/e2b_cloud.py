"""The double of E2B with templates whose host is this checkout's, in the environment starter."""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.judge.environments import environments_root
from bigcodeflow.judge.host.base import Backend, Outcome
from bigcodeflow.judge.items import WorkItem
from bigcodeflow_hosts.images import template_name
from tests.extensions.hosts.e2b import E2BDouble

STARTER = template_name("starter")


def launcher(*options: str) -> str:
    """What stands for a template's interpreter: this checkout's, with this machine's environments."""
    variables = f"export BIGCODEFLOW_ENVIRONMENTS={shlex.quote(str(environments_root()))}"
    return f'#!/bin/sh\n{variables}\nexec {shlex.quote(sys.executable)} "$@" {" ".join(options)}\n'


def quick_launcher() -> str:
    """The same with the double of a host, which is there at once and executes nothing."""
    host = Path(__file__).with_name("e2b_host.py")
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S -E {shlex.quote(str(host))} "$@"\n'


@contextmanager
def cloud(monkeypatch: pytest.MonkeyPatch, cache: Path, *, script: str = "") -> Iterator[E2BDouble]:
    """E2B with the template of the environment starter, for the SDK in this process."""
    if os.getuid():
        pytest.skip("only root can nest the sandboxes of samples in those that stand for the cloud's")
    script = script or launcher("--cores", "1")  # before the cache moves, in which environments may lie
    with E2BDouble() as double:
        for name, value in double.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("BIGCODEFLOW_ENVIRONMENTS", str(environments_root()))
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        double.add_template(STARTER, script)
        yield double


def e2b_config(**changes: Any) -> ExecutionConfig:
    """A configuration for the backend e2b."""
    e2b = {"sandboxes": 2} | changes.pop("e2b", {})
    return ExecutionConfig.model_validate({"backend": "e2b", "e2b": e2b} | changes)


def work_items(programs: Sequence[str]) -> list[WorkItem]:
    """Items that the double of a host understands."""
    return [
        WorkItem(f"key {number}", program, "", ("test_a",), 5.0, frozenset()) for number, program in enumerate(programs)
    ]


def executed(backend: Backend, programs: Sequence[str]) -> list[Outcome]:
    """Outcomes of programs, asked for by many threads at once."""
    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(backend.execute, work_items(programs)))


def answers(count: int) -> list[str]:
    """Programs that are answered at once."""
    return [f"answer {number}" for number in range(count)]
