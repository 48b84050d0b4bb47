"""The client of a space with a real space, which is killed, restarted, and closed to strangers."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from bigcodeflow.execution.remote.gradio import GradioBackend

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.remote import gradio
from tests.execution.conftest import LIMITS, RIGHT, item
from tests.serving.space_process import SpaceProcess

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_KEY = "a key of these tests"
_ITEMS = 16


def _slow(number: int) -> str:
    return f"import time\ntime.sleep(1)\n# {number}\n{RIGHT}"


@pytest.fixture(scope="module")
def space(
    starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SpaceProcess]:
    started = SpaceProcess(tmp_path_factory.mktemp("space"), "--slots-per-core", "2", "--most-mib", "1", key=_KEY)
    yield started
    started.stop()


@pytest.fixture
def backend(space: SpaceProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[GradioBackend]:
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    made = GradioBackend(ServiceConfig(url=space.url, timeout_seconds=200), LIMITS, "warm")
    yield made
    made.close()


def _gone(processes: list[psutil.Process], seconds: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not alive


def test_a_space_that_is_killed_loses_nothing(space: SpaceProcess, backend: GradioBackend) -> None:
    """Killed with work under way and started again: every item has its outcome, and no sandbox is left behind."""
    assert backend.check().isolated
    items = list(backend.prepare([item(_slow(number)) for number in range(_ITEMS)]))
    with ThreadPoolExecutor(_ITEMS) as pool:
        outcomes = [pool.submit(backend.execute, one) for one in items]
        while not any(one.done() for one in outcomes):
            time.sleep(0.05)
        offspring = space.offspring()
        assert not all(one.done() for one in outcomes)
        space.kill()
        assert _gone(offspring, seconds=10)
        space.start()
        found = [one.result() for one in outcomes]
    assert [one.exit for one in found] == ["exit 0"] * _ITEMS
    assert all(len([frame for frame in one.frames if frame["event"] == "test"]) == 2 for one in found)


def test_a_stranger_is_told_which_key_is_missing(space: SpaceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key, and with a wrong one, nothing is executed and nothing is judged."""
    config = ExecutionConfig(backend="gradio", service=ServiceConfig(url=space.url))
    for key in ("", "wrong"):
        monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", key)
        with pytest.raises(SandboxUnavailableError, match="put it into BIGCODEFLOW_SERVICE_KEY"):
            gradio.SPEC.environment(config)
        made = GradioBackend(config.service, LIMITS, "warm")
        outcome = made.execute(item(RIGHT))
        made.close()
        assert outcome.not_started
        assert "BIGCODEFLOW_SERVICE_KEY" in outcome.exit


def test_the_environment_is_the_spaces(
    space: SpaceProcess, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sha is that of the environment there, so that verdicts are shared."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    found = gradio.SPEC.environment(ExecutionConfig(backend="gradio", service=ServiceConfig(url=space.url)))
    assert found.environment_sha == starter_environment.environment_sha
    assert found.lock_sha256 == starter_environment.lock_sha256
    assert found.reference == space.url


def test_what_is_too_large_is_not_judged(backend: GradioBackend) -> None:
    """A program beyond the space's limit of uploads is left unjudged, with the option that raises it; others are not."""
    programs = [RIGHT, RIGHT + "#" * (2 << 20), RIGHT]
    with ThreadPoolExecutor(3) as pool:
        first, large, last = pool.map(backend.execute, map(item, programs))
    assert [first.exit, last.exit] == ["exit 0"] * 2
    assert large.not_started
    assert "--most-mib" in large.exit
    assert backend.execute(item(RIGHT)).exit == "exit 0"


def test_what_is_out_of_bounds_is_not_judged(backend: GradioBackend) -> None:
    """Neither is an item that asks for more time than the space gives."""
    outcome = backend.execute(replace(item(RIGHT), time_seconds=7200.0))
    assert outcome.not_started
    assert "at most 3600 s" in outcome.exit


def test_reruns_are_executions(backend: GradioBackend) -> None:
    """An item that is executed twice is executed twice: each time it sees another moment."""
    work = item("import time\nprint(time.time_ns())\n" + RIGHT)
    assert backend.execute(work).stdout != backend.execute(work).stdout


def test_a_space_ends_when_it_is_told_to(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """With a client connected and a sample running, within seconds, and with all that it started."""
    space = SpaceProcess(tmp_path)
    made = GradioBackend(ServiceConfig(url=space.url), LIMITS, "warm")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(made.execute, item("import time\ntime.sleep(60)\n" + RIGHT))
        deadline = time.monotonic() + 30
        while not (offspring := space.offspring()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert space.stop() == 0
        assert _gone(offspring, seconds=10)
        made.close()
        assert running.result().exit
