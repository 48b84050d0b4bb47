"""A Prefect server on the loopback interface, and one finished run that tests look at or change copies of."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import prefect
import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import (
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    PREFECT_SERVER_ANALYTICS_ENABLED,
    temporary_settings,
)

from bigcodeflow.core.paths import cache_folder
from bigcodeflow.judge.environments import InstalledEnvironment
from tests.flows.observed import ObservedRun, RunFlow, Settings, observe, settings_in

_SERVER_SECONDS = 600


@pytest.fixture(scope="package")
def prefect_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncPrefectClient]:
    """Give a client of a server that lives as long as these tests; nothing is read from or left in the user's own."""
    from prefect.testing.utilities import prefect_test_harness  # imports the server, which other workers need not

    home, data = tmp_path_factory.mktemp("prefect"), tmp_path_factory.mktemp("database")
    database = data / "prefect-test.db"
    migrated = cache_folder() / "tests" / f"prefect-{prefect.__version__}.db"
    is_migrated = migrated.exists()
    if is_migrated:
        shutil.copy(migrated, database)
    settings = {PREFECT_HOME: home, PREFECT_SERVER_ANALYTICS_ENABLED: False}
    settings[PREFECT_FLOWS_HEARTBEAT_FREQUENCY] = None  # each flow waits up to a second for the thread that sends them
    with pytest.MonkeyPatch.context() as patch, temporary_settings(settings):
        patch.setenv("DO_NOT_TRACK", "1")
        patch.setattr("prefect.testing.utilities.mkdtemp", lambda: str(data))
        with prefect_test_harness(server_startup_timeout=_SERVER_SECONDS), get_client(sync_client=True) as client:
            if not is_migrated:
                _keep(database, migrated)
            yield client


def _keep(database: Path, target: Path) -> None:
    """Keep a database of a server that has just started: creating its tables takes twelve seconds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(aside)) as copy:
        source.backup(copy)
    aside.replace(target)


@pytest.fixture(scope="package")
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
