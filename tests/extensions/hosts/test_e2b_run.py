"""The stage of execution in the cloud's sandboxes, with the real host: every item gets its verdict, whatever ends."""

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict
from tests.extensions.hosts.e2b_cloud import cloud, e2b_config

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

LIMITS = LimitsConfig(time_seconds=20, memory_mib=700)
TEST = """import time, unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        time.sleep(0.3)
        self.assertEqual(task_func(), 42)
"""


def _items(count: int) -> list[WorkItem]:
    programs = [f"def task_func():\n    return {42 if n % 3 else n}" for n in range(count)]
    return [WorkItem(f"{n:064x}", text, TEST, ("test_answer",), 20.0, frozenset()) for n, text in enumerate(programs)]


@pytest.mark.parametrize("ends", ["nothing", "every sandbox", "the cloud for a moment"])
def test_every_item_gets_one_verdict(
    ends: str,
    starter_environment: InstalledEnvironment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Through Dask, with two sandboxes; those that end meanwhile are replaced, and no verdict changes by it.

    What they cost is logged where the run is, not in a log of the worker's.
    """
    config = e2b_config(limits=LIMITS.model_dump(), workers=2)
    items = _items(60)
    with cloud(monkeypatch, tmp_path / "cache") as double:
        environment = execution_environment(config)
        finished = threading.Event()

        def disturb() -> None:
            while not finished.is_set() and len(list(Ledger(tmp_path / "ledger").read())) < 5:
                time.sleep(0.05)
            for sandbox in list(double.sandboxes.values()) if ends != "nothing" else []:
                double.end(sandbox)
                if ends == "every sandbox":
                    time.sleep(1.0)

        thread = threading.Thread(target=disturb)
        thread.start()
        (tmp_path / "ledger").mkdir()
        execute_items(items, config=config, environment=environment, ledger_folder=tmp_path / "ledger")
        finished.set()
        thread.join()
        assert not double.sandboxes
    assert [message for message in caplog.messages if "about USD" in message]
    lines = list(Ledger(tmp_path / "ledger").read())
    assert Counter(line["verdict_key"] for line in lines) == Counter(item.verdict_key for item in items)
    statuses = {line["verdict_key"]: line["status"] for line in lines}
    assert statuses == {item.verdict_key: "pass" if "42" in item.program else "fail" for item in items}
    assert {line["backend"] for line in lines} == {"e2b"}
    assert {line["environment_sha"] for line in lines} == {environment.environment_sha}


def test_a_full_disk_changes_no_verdict(
    starter_environment: InstalledEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples have a temporary folder of their own, and the host needs none."""
    config = e2b_config(limits=LIMITS.model_dump(), e2b={"sandboxes": 1})
    items = _items(6)
    with cloud(monkeypatch, tmp_path) as double:
        double.disk_mib = 8
        backend = make_backend(config, execution_environment(config), cores=1)
        try:
            backend.check()
            error = double.created[-1].machine.write("/tmp/much", b"x" * (16 << 20))
            assert "No space left" in error
            outcomes = [backend.execute(item) for item in items]
        finally:
            backend.close()
    pairs = zip(items, outcomes, strict=True)
    statuses = [verdict(item, outcome, backend="e2b", environment_sha="sha")["status"] for item, outcome in pairs]
    assert statuses == ["pass" if "42" in item.program else "fail" for item in items]
