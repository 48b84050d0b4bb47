"""Services, started once or with settings of their own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.service.request_parsing import ServingSettings
from tests.serving.services import KEY, Served, ServiceProcess, served

Serve = Callable[..., AbstractContextManager[Served]]


@pytest.fixture(scope="session")
def shared_service(starter_environment: InstalledEnvironment) -> Iterator[Served]:
    """For tests that leave it as it was."""
    with served(starter_environment, ServingSettings(key=KEY, max_batch=50, max_body_mib=1)) as one:
        yield one


@pytest.fixture
def serve_here(starter_environment: InstalledEnvironment) -> Serve:
    """Starts services with settings of their own."""

    def start(*, slots_per_core: int = 8, **settings: Any) -> AbstractContextManager[Served]:
        return served(starter_environment, replace(ServingSettings(key=KEY), **settings), slots_per_core=slots_per_core)

    return start


@pytest.fixture
def service_process() -> Iterator[Callable[..., ServiceProcess]]:
    """Starts service processes and leaves none behind."""
    started: list[ServiceProcess] = []

    def start(*options: str, port: int = 0) -> ServiceProcess:
        started.append(ServiceProcess(*options, port=port))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate(timeout=120)


@pytest.fixture
def with_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients in this process know the key."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)
