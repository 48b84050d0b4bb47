"""kill -9 of Dask's workers and scheduler mid-run: every item has one verdict, and little is done twice."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from distributed import Client

from bigcodeflow.config import ClusterConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.execution.cluster import fan_out
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.items import WorkItem
from tests.scaleout.hosts import DaskHosts, wait_for

from .test_clusters import CONFIG, items, keys_of

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.filterwarnings("default")]

COUNT = 40
EVERY_KEY = [f"{number:04}" for number in range(COUNT)]
Begin = Callable[[], "Future[object]"]


@pytest.fixture
def begin(starter_environment: InstalledEnvironment, tmp_path: Path, dask_hosts: DaskHosts) -> Iterator[Begin]:
    """Begins to execute the items on the hosts, in a thread; the ledger is in the test's folder."""
    with ThreadPoolExecutor(1) as pool:

        def run() -> "Future[object]":
            update = {"scheduler_address": dask_hosts.address, "cluster": ClusterConfig(patience_seconds=120)}
            given = {"config": CONFIG.model_copy(update=update), "environment": starter_environment}
            return pool.submit(execute_items, items(COUNT, seconds=0.5), ledger_folder=tmp_path, **given)

        yield run


def test_killed_workers_cost_what_was_in_flight(begin: Begin, tmp_path: Path, dask_hosts: DaskHosts) -> None:
    """One of two workers is killed and another one joins: finished verdicts stay, none is executed again."""
    dask_hosts.scheduler()
    first = dask_hosts.worker()
    dask_hosts.worker()
    run = begin()
    wait_for(lambda: len(keys_of(tmp_path)) >= 5, "five verdicts")
    dask_hosts.kill(first)
    assert len(keys_of(tmp_path)) < COUNT
    dask_hosts.worker()
    run.result()
    assert keys_of(tmp_path) == EVERY_KEY


def test_a_killed_scheduler_is_connected_to_again(begin: Begin, tmp_path: Path, dask_hosts: DaskHosts) -> None:
    """Scheduler and workers die and are started again at the same address: the run goes on and doubles nothing."""
    scheduler, worker = dask_hosts.scheduler(), dask_hosts.worker()
    run = begin()
    wait_for(lambda: len(keys_of(tmp_path)) >= 5, "five verdicts")
    dask_hosts.kill(scheduler)
    dask_hosts.kill(worker)
    time.sleep(1)
    assert 5 <= len(keys_of(tmp_path)) < COUNT
    dask_hosts.scheduler()
    dask_hosts.worker()
    try:
        run.result()
    except ExecutionError:  # the machine was too slow to be back in time: the same call again is what a retry does
        begin().result()
    else:
        assert keys_of(tmp_path) == EVERY_KEY
    assert {*keys_of(tmp_path)} == {*EVERY_KEY}


def test_results_that_die_with_their_worker_before_they_are_fetched_are_computed_again(dask_hosts: DaskHosts) -> None:
    """The connection holds: results of a long queue are fetched together, so that some wait on the worker."""

    def slow_key(item: WorkItem) -> str:
        time.sleep(0.05)
        return item.verdict_key

    def kill_workers() -> None:
        for _ in range(3):
            workers.append(dask_hosts.worker())
            time.sleep(3.1)  # the new worker is there; results of the others wait to be fetched
            dask_hosts.kill(workers.pop(0))

    dask_hosts.scheduler()
    workers = [dask_hosts.worker(), dask_hosts.worker()]
    found: list[str] = []
    with Client(dask_hosts.address) as client, ThreadPoolExecutor(1) as pool:
        for one in fan_out(client, slow_key, items(1000, seconds=0), patience_seconds=120):
            if one is None:
                continue
            if not found:
                pool.submit(kill_workers)
            item, key, error = one
            assert (key, error) == (item.verdict_key, None)
            found.append(key)
    assert sorted(found) == [f"{number:04}" for number in range(1000)]
