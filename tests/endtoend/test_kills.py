"""A kill -9 of any process during a sweep: after restart and retry the results are those of an undisturbed one."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from tests.endtoend.conftest import write_samples
from tests.endtoend.service import ServedRun, Service, wait_for
from tests.endtoend.test_cancelling import executions, gone, verdicts_in
from tests.scaleout.hosts import DaskHosts

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1800)]

_TASKS = 8
#: By model. Each sleeps otherwise, so that no verdict of one is another's.
_SLEEP_SECONDS = {"first": 1.0, "second": 1.5, "third": 1.1}
#: Long enough for a worker or a server that came back to find out what became of its runs.
_PATIENCE_SECONDS = 60.0

Sweep = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def own_service(
    starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """One that other tests do not notice the death of."""
    with Service(tmp_path_factory.mktemp("killed")) as service:
        yield service


@pytest.fixture(scope="module")
def sweep_of(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Parameters of a sweep over three models that writes below a folder."""
    answers = tmp_path_factory.mktemp("answers")
    models = [
        {"answers": str(write_samples(answers / f"{name}.jsonl", _TASKS, sleep_seconds=seconds))}
        for name, seconds in _SLEEP_SECONDS.items()
    ]

    def make(folder: Path, **execution: Any) -> dict[str, Any]:
        common = {"dataset.ids": f"0-{_TASKS - 1}", "sanitizing.mode": "none", "execution.variants": ["calibrated"]}
        common |= {f"execution.{name}": value for name, value in execution.items()}
        config = {"name": "killed", "models": models, "common": common}
        return config | {"store": str(folder / "store"), "out": str(folder / "out")}

    return make


@pytest.fixture(scope="module")
def undisturbed(own_service: Service, sweep_of: Sweep, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a sweep that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    own_service.run(sweep_of(folder, workers=1, slots_per_worker=2), "sweep/sweep").ended("COMPLETED")
    return folder / "store"


def rows(store: Path) -> list[tuple[Any, ...]]:
    """What every verdict says, without its times and its end, which a kill may cut short after the report; row for row."""
    columns = ["task_id", "sample_index", "variant", "verdict_key", "status", "failure_kind", "tests_run"]
    tables = [pq.read_table(path, columns=columns) for path in sorted(store.glob("execution/*/part-0.parquet"))]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def assert_same(store: Path, undisturbed: Path) -> None:
    assert rows(store) == rows(undisturbed)
    assert all(counted["executed_twice"] == 0 for counted in executions(store))


def in_the_second_model(store: Path) -> bool:
    """Ground truths and one model are executed, and of another one a part."""
    return len(executions(store)) >= 2 and len(verdicts_in(store)) >= 2


def kill_server(service: Service, _run: ServedRun) -> None:
    service.server.kill()
    service.server.wait()
    time.sleep(2)
    service.start_server()


def kill_worker(service: Service, _run: ServedRun) -> None:
    service.worker.kill()
    service.worker.wait()
    service.start_worker()


def kill_flow(_service: Service, run: ServedRun) -> None:
    processes = run.processes()
    [engine] = processes.named("prefect.engine")
    engine.kill()
    gone(processes)


def kill_dask_worker(_service: Service, run: ServedRun) -> None:
    """The one process that its own cluster executes in; the cluster starts another."""
    [_, worker] = sorted(run.processes().named("multiprocessing.forkserver"), key=psutil.Process.create_time)
    worker.kill()


# Flows and Dask workers are killed by benchmarks/fault_injection.py too, which CI runs.
@pytest.mark.parametrize(
    "disturb",
    [kill_server, kill_worker, *(pytest.param(one, marks=pytest.mark.long) for one in (kill_flow, kill_dask_worker))],
)
def test_results_after_a_kill_are_those_of_an_undisturbed_sweep(
    disturb: Callable[[Service, ServedRun], None],
    own_service: Service,
    sweep_of: Sweep,
    undisturbed: Path,
    tmp_path: Path,
) -> None:
    """Whatever died while samples were executed: restarted and, where it failed, retried, the sweep says the same."""
    run = own_service.run(sweep_of(tmp_path, workers=1, slots_per_worker=2), "sweep/sweep")
    store = tmp_path / "store"
    wait_for(lambda: in_the_second_model(store), "verdicts of the second model")
    disturb(own_service, run)
    finish(run, reporter=disturb is kill_flow)
    assert_same(store, undisturbed)


def test_results_after_the_end_of_a_cluster_are_those_of_an_undisturbed_sweep(
    own_service: Service, sweep_of: Sweep, undisturbed: Path, tmp_path: Path
) -> None:
    """Scheduler and workers of a cluster that others keep are killed and started again at the same address."""
    (tmp_path / "dask").mkdir()
    with DaskHosts(tmp_path / "dask") as hosts:
        processes = [hosts.scheduler(), hosts.worker()]
        cluster = {"scheduler_address": hosts.address, "cluster.patience_seconds": 120}
        run = own_service.run(sweep_of(tmp_path, **cluster), "sweep/sweep")
        store = tmp_path / "store"
        wait_for(lambda: in_the_second_model(store), "verdicts of the second model")
        for process in processes:
            hosts.kill(process)
        hosts.scheduler()
        hosts.worker()
        finish(run, reporter=False)
    assert_same(store, undisturbed)


def finish(run: ServedRun, *, reporter: bool) -> None:
    """Retry what ended badly, after a report of the crash where the worker that started the run still lives."""
    state = run.ended(seconds=_PATIENCE_SECONDS * 4)
    if state["type"] != "COMPLETED":
        if reporter:
            run.reported_crashed()
        run.retry()
        run.ended("COMPLETED")
