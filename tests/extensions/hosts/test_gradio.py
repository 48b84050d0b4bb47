"""A real space as a backend: closed to strangers, with bounds of its own. What its HTTP API does is tested beside the service."""

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
from bigcodeflow_hosts.http import HttpBackend
from tests.execution.conftest import LIMITS, RIGHT, item
from tests.serving.services import until
from tests.serving.space_process import SpaceProcess

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_KEY = "a key of these tests"


def _config(url: str) -> ExecutionConfig:
    return ExecutionConfig(backend="gradio", service=ServiceConfig(url=url), limits=LIMITS)


@pytest.fixture(scope="module")
def space(
    starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SpaceProcess]:
    started = SpaceProcess(tmp_path_factory.mktemp("space"), "--slots-per-core", "2", "--most-mib", "1", key=_KEY)
    yield started
    started.stop()


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


def test_what_the_space_does_not_allow_is_not_judged(space: SpaceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item that is too large or asks for too much time says so; others are none the worse."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", _KEY)
    config, large, long = _config(space.url), item(RIGHT + "#" * (2 << 20)), replace(item(RIGHT), time_seconds=7200.0)
    with closing(HttpBackend(config, execution_environment(config))) as made, ThreadPoolExecutor(4) as pool:
        assert made.check().isolated
        outcomes = list(pool.map(made.execute, [item(RIGHT), large, long, item(RIGHT)]))
    assert [one.not_started for one in outcomes] == [False, True, True, False]
    assert "the body is larger than 1 MiB" in outcomes[1].exit
    assert "7200 is more than the service's limit, 3600 s" in outcomes[2].exit


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
