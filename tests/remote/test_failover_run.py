"""A stage whose service dies for good, with another backend to go on in."""

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from bigcodeflow.config import ExecutionConfig, LimitsConfig, ServiceConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backend_registry import execution_environment
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import Ledger
from tests.serving.services import KEY, TEST, ServiceProcess

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_ITEMS = 60


def _item(number: int) -> WorkItem:
    answer = 42 if number % 3 else number
    program = f"import time\ndef task_func():\n    time.sleep(0.5)\n    return {answer}"
    return WorkItem(f"{number:064x}", program, TEST, ("test_answer",), 20.0, frozenset())


def test_the_second_backend_finishes_what_the_first_has_no_place_for(
    starter_environment: InstalledEnvironment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """kill -9 of the service: each item has one verdict, which names where it was had, and the run says what happened."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)
    service = ServiceProcess()
    ledger = tmp_path / "ledger"
    ledger.mkdir()

    def die() -> None:
        while len(list(Ledger(ledger).read())) < _ITEMS // 6:
            time.sleep(0.05)
        service.process.kill()

    config = ExecutionConfig(
        backend="http",
        fallback="local",
        service=ServiceConfig(url=service.url),
        limits=LimitsConfig(time_seconds=20),
        workers=1,
    )
    items = [_item(number) for number in range(_ITEMS)]
    environment = execution_environment(config)
    thread = threading.Thread(target=die)
    thread.start()
    execute_items(items, config=config, environment=environment, ledger_folder=ledger)
    thread.join()
    service.process.communicate()
    lines = list(Ledger(ledger).read())
    assert Counter(line["verdict_key"] for line in lines) == Counter(item.verdict_key for item in items)
    statuses = {line["verdict_key"]: line["status"] for line in lines}
    assert statuses == {item.verdict_key: "pass" if "42" in item.program else "fail" for item in items}
    shas = {line["backend"]: line["environment_sha"] for line in lines}
    assert shas == {"http": environment.environment_sha, "local": starter_environment.environment_sha}
    assert any(message.startswith("backend local takes over where http cannot") for message in caplog.messages)
