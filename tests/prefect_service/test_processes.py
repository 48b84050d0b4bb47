"""Processes are told apart by more than their number, found by their mark, and ended for sure."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.prefect_service.processes import ProcessIdentity, end, identify, marked, start
from tests.prefect_service.services import wait_for

STUBBORN = "trap '' TERM; echo ready; while true; do sleep 1; done"


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_a_recycled_number_is_another_process(sleeper: "subprocess.Popen[bytes]") -> None:
    """A process with the number of one that ended, but another start, is neither alive nor ended in its place."""
    found = identify(sleeper.pid)
    assert found is not None
    assert found.alive
    former = ProcessIdentity(pid=sleeper.pid, started=f"{found.started}0")
    assert not former.alive
    end([former], patience_seconds=0)
    assert sleeper.poll() is None


def test_a_process_that_waits_to_be_reaped_has_ended(sleeper: "subprocess.Popen[bytes]") -> None:
    """Nobody may reap a service's processes in a container; ending one that is gone is no error."""
    found = identify(sleeper.pid)
    assert found is not None
    sleeper.kill()
    wait_for(lambda: not found.alive, "the process to end")
    assert Path(f"/proc/{sleeper.pid}").exists()
    sleeper.wait()
    end([found], patience_seconds=1)
    assert not found.alive


def test_who_ignores_the_request_is_killed(tmp_path: Path) -> None:
    """`end` returns when the process is gone, whatever it thinks of SIGTERM."""
    log = tmp_path / "log"
    process = start(["sh", "-c", STUBBORN], folder=tmp_path, log=log, environment=dict(os.environ))
    assert process is not None
    wait_for(lambda: "ready" in log.read_text(), "the process to ignore signals")
    end([process], patience_seconds=0.5)
    assert not process.alive


def test_started_processes_have_a_session_of_their_own_and_are_found_by_their_mark(tmp_path: Path) -> None:
    """Neither a closed terminal nor Ctrl-C reaches them; children inherit the mark."""
    log, mark = tmp_path / "log", ("BIGCODEFLOW_SERVICE", uuid.uuid4().hex)
    environment = os.environ | dict([mark])
    process = start(["sh", "-c", "sleep 600 & wait"], folder=tmp_path, log=log, environment=environment)
    assert process is not None
    try:
        assert os.getsid(process.pid) == process.pid
        wait_for(lambda: len(marked(*mark)) == 2, "shell and child")
        assert process in marked(*mark)
        assert not marked(mark[0], f"{mark[1]}-of-another")
    finally:
        end(marked(*mark), patience_seconds=5)
    assert not marked(*mark)
