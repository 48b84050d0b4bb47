"""A Prefect server on the loopback interface, and one finished run that tests look at or change copies of."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import (
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    PREFECT_SERVER_ANALYTICS_ENABLED,
    temporary_settings,
)

from bigcodeflow.environments import InstalledEnvironment
from tests.flows.observed import ObservedRun, RunFlow, Settings, observe, settings_in
from tests.forked_workers import forked_workers

__all__ = ["forked_workers"]

_SERVER_SECONDS = 600


@pytest.fixture(scope="module", autouse=True)
def workers(forked_workers: None) -> None:
    """All flows execute on forked workers."""


@pytest.fixture(scope="session")
def prefect_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncPrefectClient]:
    """A client of a server that lives as long as the tests; nothing is read from or left in the user's own."""
    from prefect.testing.utilities import prefect_test_harness  # imports the server, which other workers need not

    settings = {PREFECT_HOME: tmp_path_factory.mktemp("prefect"), PREFECT_SERVER_ANALYTICS_ENABLED: False}
    settings[PREFECT_FLOWS_HEARTBEAT_FREQUENCY] = None  # each flow waits up to a second for the thread that sends them
    with pytest.MonkeyPatch.context() as patch, temporary_settings(settings):
        patch.setenv("DO_NOT_TRACK", "1")
        with prefect_test_harness(server_startup_timeout=_SERVER_SECONDS), get_client(sync_client=True) as client:
            yield client


@pytest.fixture(scope="session")
def finished_run(
    prefect_client: SyncPrefectClient,
    starter_environment: InstalledEnvironment,
    tmp_path_factory: pytest.TempPathFactory,
) -> ObservedRun:
    """The first run ever of its store."""
    run = observe(settings_in(tmp_path_factory.mktemp("first")), prefect_client)
    assert run.state.is_completed(), run.state.message
    return run


@pytest.fixture
def run_flow(prefect_client: SyncPrefectClient, starter_environment: InstalledEnvironment) -> RunFlow:
    """Runs the flow with a configuration and says what became of it."""
    return lambda config: observe(config, prefect_client)


@pytest.fixture
def settings(finished_run: ObservedRun, tmp_path: Path) -> Settings:
    """Makes configurations that see a copy of the finished run's store."""
    shutil.copytree(finished_run.config.store, tmp_path / "store")
    return lambda *overrides: settings_in(tmp_path, *overrides)
