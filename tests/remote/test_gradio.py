"""A real space as a backend: killed, restarted, closed to strangers. What its HTTP API does is tested beside the service."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.core.errors import ConfigError, SandboxUnavailableError
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


def test_a_stranger_is_told_which_key_is_missing(
    space: SpaceProcess, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the key, and with a wrong one, nothing is executed and nothing is judged."""
    config = _config(space.url)
    for key in ("", "wrong"):
        monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", key)
        with pytest.raises(ConfigError, match="set BIGCODEFLOW_SERVICE_KEY to its key"):
            execution_environment(config)
        with closing(HttpBackend(config, starter_environment)) as made:
            outcome = made.execute(item(RIGHT))
        assert outcome.not_started
        assert "BIGCODEFLOW_SERVICE_KEY" in outcome.exit


def test_the_environment_is_the_spaces(
    space: SpaceProcess, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sha is that of the environment there, so that verdicts are shared."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    found = execution_environment(_config(space.url))
    assert found.environment_sha == starter_environment.environment_sha
    assert found.lock_sha256 == starter_environment.lock_sha256
    assert found.reference == space.url


def test_what_the_space_does_not_allow_is_not_judged(backend: HttpBackend) -> None:
    """An item that is too large or asks for too much time says so; others are none the worse, nor bounded by defaults."""
    large, long = item(RIGHT + "#" * (2 << 20)), replace(item(RIGHT), time_seconds=7200.0)
    with ThreadPoolExecutor(4) as pool:
        first, large_outcome, long_outcome, last = pool.map(backend.execute, [item(RIGHT), large, long, item(RIGHT)])
    assert [first.exit, last.exit] == ["exit 0"] * 2
    assert large_outcome.not_started
    assert "a request may have 1 MiB" in large_outcome.exit
    assert long_outcome.not_started
    assert "7200 is more than the service's 3600" in long_outcome.exit


def test_more_than_the_default_limits_may_be_asked_for(
    space: SpaceProcess, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to --most-memory-mib, which is named where it is too little."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    for memory_mib in (32 * 1024, 64 * 1024):
        limits = LIMITS.model_copy(update={"memory_mib": memory_mib, "address_space_mib": 1 << 20, "processes": 1024})
        config = _config(space.url).model_copy(update={"limits": limits})
        with closing(HttpBackend(config, starter_environment)) as made:
            if memory_mib > 32 * 1024:
                with pytest.raises(SandboxUnavailableError, match="--most-memory-mib 65536"):
                    made.check()
            else:
                assert made.check().isolated
                assert made.execute(item(RIGHT)).exit == "exit 0"


def test_something_else_at_the_address_is_named(space: SpaceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A web page that is no space of this project, such as one of an older version."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    with pytest.raises(SandboxUnavailableError, match=r"names a service of bigcodeflow 0\.2\.0 or newer"):
        execution_environment(_config(f"{space.url}/elsewhere"))


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
