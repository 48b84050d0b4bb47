"""Hosts that die, fall silent or belong to another version: items begin again elsewhere, and nothing is a fail."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import Mock

import pytest
from tenacity import wait_none

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import NOT_STARTED, Outcome
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.backend import FailoverBackend, HostLostError
from bigcodeflow.judge.verdicts import verdict
from bigcodeflow_hosts import hosts as hosts_module
from bigcodeflow_hosts.hosts import OpenTransport, RemoteBackend, Transport
from tests.execution.conftest import LIMITS, RIGHT, item
from tests.extensions.hosts.host_process import ProcessTransport

pytestmark = pytest.mark.sandbox

SLOW = "import time\ndef task_func():\n    time.sleep(1.0)\n    return 42\n"


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item whose host is lost begins again at once."""
    monkeypatch.setattr(hosts_module, "_WAIT", wait_none())


@contextmanager
def remote(open_transport: OpenTransport, hosts: int = 1) -> Iterator[RemoteBackend]:
    backend = RemoteBackend(ExecutionConfig(backend="docker", limits=LIMITS), open_transport, hosts=hosts)
    try:
        yield backend
    finally:
        backend.close()


def status(work: WorkItem, outcome: Outcome) -> str:
    return verdict(work, outcome, backend="remote", environment_sha="sha")["status"]


def test_a_host_executes_and_ends_with_its_client(starter_environment: InstalledEnvironment) -> None:
    """Verdicts come, the capabilities are the host's, and nothing is left after the end."""
    started: list[ProcessTransport] = []

    def open_transport() -> Transport:
        started.append(ProcessTransport("--cores", "1"))
        return started[-1]

    with remote(open_transport) as backend:
        assert backend.check().isolated
        [prepared] = backend.prepare([item(RIGHT)])
        assert prepared.preload == ("unittest",)
        assert status(prepared, backend.execute(prepared)) == "pass"
        wrong = item("def task_func():\n    return 41\n")
        assert status(wrong, backend.execute(wrong)) == "fail"
    assert len(started) == 1
    assert started[0].process.poll() is not None


def test_a_host_of_another_version_is_refused(
    starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one line that names both versions, and at once."""
    monkeypatch.setattr(hosts_module, "code_version", lambda: "0.0.1, harness 0")
    with remote(ProcessTransport) as backend, pytest.raises(SandboxUnavailableError, match=r"0\.0\.1, harness 0"):
        backend.check()


def test_a_backend_without_a_host_fails_no_sample() -> None:
    """Every item is an infra_error that tells why, and a thousand of them do not each wait."""
    tries = Mock(side_effect=HostLostError("the engine does not answer: start it"))
    with remote(tries) as backend, ThreadPoolExecutor(16) as pool:
        work = [replace(item(RIGHT), verdict_key=str(number)) for number in range(200)]
        outcomes = list(pool.map(backend.execute, work))
    assert tries.call_count < 20
    for one, outcome in zip(work, outcomes, strict=True):
        assert outcome.exit.startswith(NOT_STARTED)
        assert "start it" in outcome.exit
        assert status(one, outcome) == "infra_error"


class ScriptedTransport:
    """Gives one answer after the other to whatever it is asked, and then says now and then what is under way."""

    label = "scripted host"

    def __init__(self, *answers: bytes, open_items: Sequence[int] | None = None) -> None:
        self._answers, self._asked, self.closed = answers, threading.Semaphore(0), False
        self._alive = [] if open_items is None else [protocol.line({"type": "alive", "open": open_items})]

    def send(self, data: bytes) -> None:
        self._asked.release()

    def lines(self) -> Iterator[bytes]:
        for answer in self._answers:
            self._asked.acquire()
            yield answer
        while not self.closed:
            yield from self._alive
            time.sleep(0.05)

    def close(self) -> None:
        self.closed = True


READY = protocol.line(
    {
        "type": "ready",
        "code_version": "any",
        "environment": {"name": "starter", "environment_sha": "sha", "missing_data": [], "lock_sha256": ""},
        "capabilities": {"isolated": True, "layers": [], "warm": False},
        "cores": 1,
        "slots": 8,
    }
)
FORGED = protocol.line({"type": "outcome", "number": 0, "outcome": {"frames": [{"event": "pass"}], "exit": "exit 0"}})


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>502 Bad Gateway</html>\n",
        FORGED,
        b'{"type": "refused", "message": "no"}\n',
        b'{"type": "alive", "open": 3}\n',
        b'{"type": "outcome", "number": []}\n',
    ],
)
def test_nonsense_is_no_verdict(no_pauses: None, answer: bytes) -> None:
    """Whatever a broken host answers, the item is neither a pass nor a fail."""
    with remote(lambda: ScriptedTransport(READY, answer)) as backend:
        outcome = backend.execute(item(RIGHT))
    assert outcome.not_started


@pytest.mark.slow
@pytest.mark.parametrize(("open_items", "reason"), [(None, "silent"), ([77], "did not answer in time")])
def test_a_host_that_is_silent_about_an_item_is_given_up(
    no_pauses: None, monkeypatch: pytest.MonkeyPatch, open_items: list[int] | None, reason: str
) -> None:
    """No sign of life for too long ends the waiting, as a host that lives and does not name the item."""
    monkeypatch.setattr(hosts_module, "_SILENCE_SECONDS", 0.3)
    with remote(lambda: ScriptedTransport(READY, open_items=open_items)) as backend:
        outcome = backend.execute(item(RIGHT))
    assert reason in outcome.exit


@pytest.mark.slow
def test_an_item_that_a_host_still_has_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it waits for its core there."""
    monkeypatch.setattr(hosts_module, "_SILENCE_SECONDS", 2.0)
    with remote(lambda: ScriptedTransport(READY, open_items=[0])) as backend, ThreadPoolExecutor(1) as pool:
        running = pool.submit(backend.execute, item(RIGHT))
        assert not wait([running], timeout=2.3).done
        backend.close()
        assert running.result().not_started


@pytest.mark.slow
def test_a_sample_that_sleeps_for_long_leaves_its_slot(starter_environment: InstalledEnvironment) -> None:
    """The thread that waits for it hears so while it sleeps."""
    left = threading.Event()
    backend = RemoteBackend(
        ExecutionConfig(backend="docker", limits=LIMITS),
        lambda: ProcessTransport("--cores", "1"),
        hosts=1,
        on_long=left.set,
    )
    with ThreadPoolExecutor(1) as pool:
        try:
            running = pool.submit(backend.execute, item(SLOW.replace("1.0", "9999"), seconds=300.0))
            assert left.wait(120)
            assert not running.done()
        finally:
            backend.close()


@pytest.mark.slow
def test_the_second_backend_takes_over(starter_environment: InstalledEnvironment) -> None:
    """What the first cannot place the second executes, and the verdict says so; what the first judged stands."""
    with (
        remote(Mock(side_effect=HostLostError("out of order"))) as first,
        remote(lambda: ProcessTransport("--cores", "1")) as second,
    ):
        second.name = "second"
        both = FailoverBackend(first, second, starter_environment)
        assert both.check().isolated
        work = item(RIGHT)
        outcome = both.execute(work)
        assert (outcome.backend, outcome.environment_sha) == ("second", starter_environment.environment_sha)
        assert status(work, outcome) == "pass"
        turned = FailoverBackend(second, first, starter_environment)
        assert turned.execute(work).backend == ""


def test_two_backends_that_are_down_name_both_causes(no_pauses: None) -> None:
    """So that the user can mend either."""
    causes = (Mock(side_effect=HostLostError(why)) for why in ("no engine", "no service"))
    with remote(next(causes)) as first, remote(next(causes)) as second:
        outcome = FailoverBackend(first, second, None).execute(item(RIGHT))
    assert "no engine" in outcome.exit
    assert "no service" in outcome.exit
