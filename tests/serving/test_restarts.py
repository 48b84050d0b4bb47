"""A service that is killed in the middle of a run, and started again."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.verdicts import Ledger
from tests.attacks.conftest import LIMITS
from tests.remote.test_http import passed, program
from tests.serving.services import KEY, ServiceProcess, client_of, until
from tests.serving.test_process import Start

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)


def config_of(service: ServiceProcess) -> ExecutionConfig:
    return ExecutionConfig(backend="http", service=ServiceConfig(url=service.url), limits=LIMITS, workers=1)


def executions(service: ServiceProcess) -> int:
    with client_of(service.url) as client:
        return client.get("/v1/info").json()["executions"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_service_that_comes_back_is_used_again(service_process: Start, number: int) -> None:
    """Killed or stopped with half of the items executed: all others are executed by the next one, and none is lost."""
    first = service_process()
    config = config_of(first)
    backend = make_backend(config, execution_environment(config), cores=1)
    ended = [0]
    counting = threading.Lock()

    def execute(index: int) -> bool:
        outcome = backend.execute(program(f"restarted {number} {index}", 0.2))
        with counting:
            ended[0] += 1
        return passed(outcome)

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(execute, index) for index in range(40)]
        assert until(lambda: ended[0] >= 10, 30)
        first.end(number)
        before = ended[0]
        second = service_process(port=first.port)
        assert all(future.result(timeout=120) for future in found)
    backend.close()
    assert before < 40
    assert executions(second) <= 40 - before + 8


def test_a_run_has_its_verdicts_from_a_service(
    service_process: Start,
    tmp_path: Path,
    starter_environment: InstalledEnvironment,
) -> None:
    """The whole way: Dask's workers ask, the service executes, the ledger holds every verdict."""
    service = service_process()
    config = config_of(service)
    items = [program(f"run {index}") for index in range(12)]
    execute_items(items, config=config, environment=execution_environment(config), ledger_folder=tmp_path)
    written = list(Ledger(tmp_path).read())
    assert {line["verdict_key"] for line in written} == {item.verdict_key for item in items}
    assert {(line["status"], line["backend"], line["environment_sha"]) for line in written} == {
        ("pass", "http", starter_environment.environment_sha)
    }
    assert executions(service) == 12
