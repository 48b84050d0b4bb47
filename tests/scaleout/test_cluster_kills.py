"""kill -9 of Dask's workers and scheduler mid-run: every item has one verdict, and little is done twice."""

import threading
import time
from pathlib import Path

import pytest

from bigcodeflow.config import ClusterConfig
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.judge.environments import InstalledEnvironment
from tests.scaleout.hosts import DaskHosts, wait_for

from .test_clusters import CONFIG, items, keys_of

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.filterwarnings("default")]

COUNT = 40
EVERY_KEY = [f"{number:04}" for number in range(COUNT)]


class Run(threading.Thread):
    """An execution on the hosts, in a thread of its own."""

    def __init__(self, hosts: DaskHosts, environment: InstalledEnvironment, folder: Path) -> None:
        super().__init__()
        update = {"scheduler_address": hosts.address, "cluster": ClusterConfig(patience_seconds=120)}
        self._config, self._environment = CONFIG.model_copy(update=update), environment
        self.folder = folder
        self.error: BaseException | None = None

    def run(self) -> None:
        given = {"config": self._config, "environment": self._environment, "ledger_folder": self.folder}
        try:
            execute_items(items(COUNT, seconds=0.5), **given)
        except Exception as error:  # noqa: BLE001 - handed to the test
            self.error = error

    def finished(self) -> list[str]:
        return keys_of(self.folder) if self.folder.is_dir() else []


def test_killed_workers_cost_what_was_in_flight(
    starter_environment: InstalledEnvironment, tmp_path: Path, dask_hosts: DaskHosts
) -> None:
    """One of two workers is killed and another one joins: finished verdicts stay, none is executed again."""
    dask_hosts.scheduler()
    first = dask_hosts.worker()
    dask_hosts.worker()
    run = Run(dask_hosts, starter_environment, tmp_path / "ledger")
    run.start()
    wait_for(lambda: len(run.finished()) >= 5, "five verdicts")
    dask_hosts.kill(first)
    before = run.finished()
    assert len(before) < COUNT
    dask_hosts.worker()
    run.join()
    assert run.error is None
    assert run.finished() == EVERY_KEY


def test_a_killed_scheduler_is_connected_to_again(
    starter_environment: InstalledEnvironment, tmp_path: Path, dask_hosts: DaskHosts
) -> None:
    """Scheduler and workers die and are started again at the same address: the run goes on and doubles nothing."""
    scheduler = dask_hosts.scheduler()
    worker = dask_hosts.worker()
    run = Run(dask_hosts, starter_environment, tmp_path / "ledger")
    run.start()
    wait_for(lambda: len(run.finished()) >= 5, "five verdicts")
    dask_hosts.kill(scheduler)
    dask_hosts.kill(worker)
    time.sleep(1)
    assert 5 <= len(run.finished()) < COUNT
    dask_hosts.scheduler()
    dask_hosts.worker()
    run.join()
    if run.error is not None:  # the machine was too slow to be back in time: the same call again is what a retry does
        again = Run(dask_hosts, starter_environment, tmp_path / "ledger")
        again.start()
        again.join()
        assert again.error is None
        assert sorted(set(again.finished())) == EVERY_KEY
        return
    assert run.finished() == EVERY_KEY
