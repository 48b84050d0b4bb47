"""The service on PostgreSQL, behind a password of its own, with the shipped deployments."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from tests.prefect_service.postgresql import PASSWORD, postgresql_server
from tests.prefect_service.services import Service

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.sandbox, pytest.mark.timeout(1200)]

_AUTHENTICATION = dict.fromkeys(("PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING"), "someone:something")


@pytest.fixture
def database() -> Iterator[str]:
    with postgresql_server() as url:
        yield url


def test_a_benchmark_runs_on_postgresql(
    tmp_path: Path, database: str, starter_environment: InstalledEnvironment
) -> None:
    """From one command to a score; the password is shown nowhere, and the API asks for its own."""
    service = Service(tmp_path / "project", **_AUTHENTICATION)
    try:
        wrong = database.replace(PASSWORD, "guessed")
        assert "password authentication failed" in service.call("up", "--database", wrong, code=1)
        said = service.call("up", "--port", str(service.port), "--database", database)
        assert "Prefect UI" in said
        said += service.call("status")
        assert "PREFECT_SERVER_API_AUTH_STRING" in Service(service.project).call("status", code=1)
        assert PASSWORD not in said
        assert "postgresql+asyncpg://owner:***@" in said

        config = {"dataset": {"ids": "0-2"}, "samples": {"source": "oracle"}, "execution": {"workers": 1}}
        run = service.trigger("benchmark/benchmark", config=config)
        service.wait_for_state(run, "COMPLETED")
        assert (service.project / "results" / "store").is_dir()
        same = ("dataset.ids=0-2", "samples.source=oracle", "execution.workers=1", f"name={tmp_path.name}")
        said = service.call("run", "starter", *(argument for one in same for argument in ("--set", one)))
        assert f"on the Prefect server of this folder: http://127.0.0.1:{service.port}" in said
        names = [run["name"] for run in service.ask("POST", "/flow_runs/filter", {})]
        assert len(names) == 2
        assert any(tmp_path.name in name for name in names)
        assert "stopped: worker, server" in service.call("down")
        assert not service.processes()
    finally:
        service.kill()
