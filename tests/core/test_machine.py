"""What is asked of the system, where it is Linux and where it is another one."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bigcodeflow.core import machine
from tests.conftest import ROOT

#: Where sandboxes and engines run, which need Linux; and the module that knows both.
_NEED_LINUX = ("judge/guest", "judge/host", "core/machine.py")
_LINUX = ("/proc/", "/sys/", "sched_getaffinity", "pidfd_open", "prctl")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without /proc, on which processes are not bound to cores."""
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(machine, "Path", lambda path: Path("/no/such") / str(path).lstrip("/"))


def test_processes_are_told_apart_on_linux() -> None:
    """A process keeps its start, another one has its own, and one that is gone has none."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = machine.start_of(child.pid)
    assert started
    assert machine.start_of(child.pid) == started != machine.start_of(os.getpid())
    child.communicate(b"")
    assert machine.start_of(child.pid) == ""
    assert machine.boot_id() == machine.boot_id()
    assert machine.pid_namespace().isdecimal()
    assert machine.usable_cores() == len(psutil.Process().cpu_affinity() or [])


@pytest.mark.usefixtures("elsewhere")
def test_processes_are_told_apart_elsewhere() -> None:
    """By what psutil says of them."""
    assert machine.usable_cores() == os.cpu_count()
    assert machine.boot_id() == f"{psutil.boot_time():.0f}"
    assert machine.pid_namespace() == ""
    assert machine.start_of(os.getpid()) == f"{psutil.Process().create_time():.3f}"
    assert machine.start_of(2**22 + 1) == ""


def test_nothing_else_depends_on_linux() -> None:
    """What a Mac runs, with sandboxes elsewhere, asks the system through one module."""
    library = ROOT / "src" / "bigcodeflow"
    found = {
        path.relative_to(library).as_posix()
        for path in library.rglob("*.py")
        if not path.relative_to(library).as_posix().startswith(_NEED_LINUX)
        and any(word in path.read_text() for word in _LINUX)
    }
    assert found == {"core/untrusted_text.py"}  # on Linux alone, as it says
