"""A real space as a backend: killed, restarted, closed to strangers. What its HTTP API does is tested beside the service."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.backend_registry import execution_environment
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.remote.http import HttpBackend
from tests.execution.conftest import LIMITS, RIGHT, item
from tests.serving.services import until
from tests.serving.space_process import SpaceProcess

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_KEY = "a key of these tests"
_ITEMS = 16


def _config(url: str, **service: object) -> ExecutionConfig:
    return ExecutionConfig(backend="gradio", service=ServiceConfig(url=url, **service), limits=LIMITS)


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
def backend(space: SpaceProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpBackend]:
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    config = _config(space.url, timeout_seconds=200)
    with closing(HttpBackend(config, execution_environment(config))) as made:
        yield made


def test_a_space_that_is_killed_loses_nothing(space: SpaceProcess, backend: HttpBackend) -> None:
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
        assert not psutil.wait_procs(offspring, timeout=120)[1]
        space.start()
        found = [one.result() for one in outcomes]
    assert [one.exit for one in found] == ["exit 0"] * _ITEMS
    assert all(len([frame for frame in one.frames if frame["event"] == "test"]) == 2 for one in found)


def test_a_stranger_executes_nothing(
    space: SpaceProcess, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the key, and with a wrong one: the HTTP API of a space has guards of its own."""
    for key in ("", "wrong"):
        monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", key)
        with closing(HttpBackend(_config(space.url), starter_environment)) as made:
            outcome = made.execute(item(RIGHT))
        assert outcome.not_started
        assert "BIGCODEFLOW_SERVICE_KEY" in outcome.exit


def test_what_the_space_does_not_allow_is_not_judged(backend: HttpBackend) -> None:
    """An item that is too large or asks for too much time says so; others are none the worse."""
    large, long = item(RIGHT + "#" * (2 << 20)), replace(item(RIGHT), time_seconds=7200.0)
    with ThreadPoolExecutor(4) as pool:
        first, large_outcome, long_outcome, last = pool.map(backend.execute, [item(RIGHT), large, long, item(RIGHT)])
    assert [first.exit, last.exit] == ["exit 0"] * 2
    assert "a request may have 1 MiB" in large_outcome.exit
    assert "7200 is more than the service's 3600" in long_outcome.exit
    assert large_outcome.not_started
    assert long_outcome.not_started


@pytest.mark.parametrize(("memory_gib", "refusal"), [(32, ""), (64, "--most-memory-mib 65536")])
def test_more_than_the_default_limits_may_be_asked_for(
    space: SpaceProcess, monkeypatch: pytest.MonkeyPatch, memory_gib: int, refusal: str
) -> None:
    """Up to --most-memory-mib, which is named where it is too little."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    limits = {"memory_mib": memory_gib << 10, "address_space_mib": 1 << 20, "processes": 1024}
    config = _config(space.url).model_copy(update={"limits": LIMITS.model_copy(update=limits)})
    with closing(HttpBackend(config, execution_environment(config))) as made:
        with pytest.raises(SandboxUnavailableError, match=refusal) if refusal else nullcontext():
            assert made.check().isolated
        assert refusal or made.execute(item(RIGHT)).exit == "exit 0"


def test_a_space_ends_when_it_is_told_to(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """With a client connected and a sample running, within seconds, and with all that it started."""
    space = SpaceProcess(tmp_path)
    made = HttpBackend(_config(space.url), starter_environment)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(made.execute, item("import time\ntime.sleep(60)\n" + RIGHT))
        assert until(space.offspring)
        offspring = space.offspring()
        assert space.stop() == 0
        assert not psutil.wait_procs(offspring, timeout=120)[1]
        made.close()
        assert running.result().exit
