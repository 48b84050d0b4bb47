"""The client of a space against spaces that misbehave: nothing is lost, nothing counts twice."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bigcodeflow.config import ExecutionConfig, LimitsConfig, ServiceConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.remote import gradio, spaces
from bigcodeflow.execution.remote.gradio import GradioBackend
from tests.execution.conftest import item
from tests.serving.space_process import free_port

pytestmark = pytest.mark.slow

_DOUBLE = Path(__file__).with_name("space_double.py")
Execute = Callable[..., list[Outcome]]


class Double:
    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.executions = folder / "executions"
        self.executions.touch()
        self._log = (folder / "log").open("wb")
        command = [sys.executable, str(_DOUBLE), str(port), str(self.executions)]
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        deadline = time.monotonic() + 90
        while not self._answers():
            assert self.process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/plain/", timeout=5).close()
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False
        return True

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._log.close()


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    found = Double(tmp_path_factory.mktemp("double"))
    yield found
    found.close()


@pytest.fixture
def execute(double: Double) -> Execute:
    """The outcomes of programs that are executed at the same time."""

    def run(*programs: str, path: str = "/plain", seconds_apart: float = 0.0, **service: float) -> list[Outcome]:
        backend = GradioBackend(ServiceConfig(url=double.url + path, **service), LimitsConfig(), "cold")
        try:
            with ThreadPoolExecutor(len(programs)) as pool:
                started = []
                for program in programs:
                    started.append(pool.submit(backend.execute, item(program)))
                    time.sleep(seconds_apart)
                return [one.result() for one in started]
        finally:
            backend.close()

    return run


@pytest.mark.parametrize("fault", ["garbage", "half a line", "error", "nothing", "no outcome"])
def test_what_has_no_outcome_is_sent_again(execute: Execute, double: Double, fault: str) -> None:
    """What came before the fault stands, and is not executed again."""
    before = double.executions.read_text().splitlines()
    found = execute("fine", fault, "fine too", seconds_apart=0.01)
    assert {one.exit for one in found} == {"exit 0"}
    assert found[0].stdout == "first"
    assert found[1].stdout == "later"
    executed = double.executions.read_text().splitlines()[len(before) :]
    assert sum(number.endswith("-0") for number in executed) == 1
    assert {number[-2:] for number in executed} == {"-0", "-1", "-2"}


def test_a_space_that_falls_silent_is_left(execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sign of life is missing, so the items are sent again."""
    monkeypatch.setattr(spaces, "SILENCE_SECONDS", 2.0)
    assert execute("silence")[0].stdout == "later"


def test_the_first_outcome_stands(execute: Execute) -> None:
    """What comes twice, or is nobody's, changes nothing."""
    assert [one.stdout for one in execute("twice", "foreign")] == ["first", "own"]


def test_lines_are_put_together(execute: Execute) -> None:
    """However the answer was cut."""
    assert execute("in pieces")[0].stdout == "whole"


def test_a_full_queue_is_waited_for(execute: Execute) -> None:
    """Six calls to a space that answers one at a time and lets one wait."""
    found = execute(*["slow"] * 6, path="/full", seconds_apart=0.1)
    assert [one.stdout for one in found] == ["slow"] * 6


def test_patience_has_an_end(execute: Execute) -> None:
    """What did not come in time is not judged, and the setting is named."""
    found = execute("silence", timeout_seconds=1.0)[0]
    assert found.not_started
    assert "execution.service.timeout_seconds" in found.exit


def test_closing_ends_what_waits(double: Double) -> None:
    """At once, and unjudged: nobody waits for what nobody wants."""
    backend = GradioBackend(ServiceConfig(url=f"{double.url}/plain"), LimitsConfig(), "cold")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(backend.execute, item("silence"))
        time.sleep(0.5)
        began = time.monotonic()
        backend.close()
        assert running.result().not_started
    assert time.monotonic() - began < 2


def test_another_version_is_refused(double: Double) -> None:
    """Before anything is executed there."""
    service = ServiceConfig(url=f"{double.url}/other")
    with pytest.raises(EnvironmentUnusableError, match=r"0\.0\.1, harness 1.*install the same version"):
        gradio.SPEC.environment(ExecutionConfig(backend="gradio", service=service))
    with pytest.raises(SandboxUnavailableError, match="install the same version"):
        GradioBackend(service, LimitsConfig(), "cold").check()


def test_another_space_is_refused(double: Double) -> None:
    """One that has no such endpoint."""
    service = ServiceConfig(url=f"{double.url}/original")
    with pytest.raises(SandboxUnavailableError, match="no endpoint /execute"):
        gradio.SPEC.environment(ExecutionConfig(backend="gradio", service=service))


def test_another_environment_is_refused(double: Double) -> None:
    """It is named with both remedies."""
    service = ServiceConfig(url=f"{double.url}/plain")
    config = ExecutionConfig(backend="gradio", service=service, environment="bigcodebench")
    with pytest.raises(EnvironmentUnusableError, match=r"execution\.environment=starter"):
        gradio.SPEC.environment(config)


def test_nobody_there_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A space that is down leaves items unjudged, and the next ones do not wait for it."""
    monkeypatch.setattr(gradio, "_ATTEMPTS", 2)
    service = ServiceConfig(url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(SandboxUnavailableError, match=r"does not answer .* correct execution.service.url"):
        gradio.SPEC.environment(ExecutionConfig(backend="gradio", service=service))
    backend = GradioBackend(service, LimitsConfig(), "cold")
    first = backend.execute(item("fine"))
    began = time.monotonic()
    second = backend.execute(item("fine"))
    assert first.not_started
    assert second.not_started
    assert "does not answer" in second.exit
    assert time.monotonic() - began < 0.1
    backend.close()
