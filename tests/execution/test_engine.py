"""Fan-out over Dask: every item gets its verdict once, whatever is killed on the way."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError, SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution import cluster
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import Ledger
from tests.scaleout.hosts import DaskHosts

from .conftest import LIMITS, RIGHT, item

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]

CONFIG = ExecutionConfig(workers=2, slots_per_worker=2, limits=LIMITS)
SLOW = "import time\ndef task_func():\n    time.sleep(0.3)\n    return 42\n"


def _items(count: int, program: str = RIGHT) -> list[WorkItem]:
    return [
        replace(item(program), verdict_key=f"{number:04}", program=f"{program}# {number}") for number in range(count)
    ]


def _descendants(text: str) -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if text in " ".join(process.cmdline()):
                found.append(process)
    return found


def _execute(items: list[WorkItem], folder: Path, environment: InstalledEnvironment, **options: object) -> list[dict]:
    execute_items(items, config=CONFIG, environment=environment, ledger_folder=folder, **options)
    return list(Ledger(folder).read())


def test_every_item_gets_one_verdict(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """Sixty items on two workers: sixty verdicts, and progress that ends at all of them."""
    seen: list[tuple[int, int]] = []
    lines = _execute(_items(60), tmp_path, starter_environment, progress=lambda done, total: seen.append((done, total)))
    assert sorted(line["verdict_key"] for line in lines) == [f"{number:04}" for number in range(60)]
    assert {line["status"] for line in lines} == {"pass"}
    assert (seen[0], seen[-1]) == ((0, 60), (60, 60))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.serial
def test_no_work_starts_no_cluster(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """A run whose verdicts are all known does not wait for workers."""
    began = time.monotonic()
    assert _execute([], tmp_path, starter_environment) == []
    assert time.monotonic() - began < 0.5


@contextmanager
def _killing(
    kill: Callable[[], bool], times: int = 1_000_000, ledger: Path | None = None, seconds_between: float = 0.4
) -> Iterator[list[bool]]:
    """Kill so often while the block runs, from the ledger's first verdict on; what is yielded counts the kills."""
    killed: list[bool] = []
    over = threading.Event()

    def work() -> None:
        while ledger and not list(ledger.iterdir()):
            time.sleep(0.05)
        while len(killed) < times and not over.wait(seconds_between):
            if kill():
                killed.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def _kill_one(text: str) -> Callable[[], bool]:
    def kill() -> bool:
        found = _descendants(text)
        if found:
            with suppress(psutil.NoSuchProcess):
                random.choice(found).send_signal(signal.SIGKILL)
                return True
        return False

    return kill


@pytest.mark.parametrize(
    ("start", "victim", "times"),
    [
        pytest.param("cold", "--die-with-parent", 3, marks=pytest.mark.slow),
        ("warm", "--die-with-parent", 2),  # everything that is kept warm
        ("warm", "supervisor.py", 6),  # the supervisor, a zygote, sample namespaces or a sample
        pytest.param("warm", "multiprocessing.spawn", 2, marks=pytest.mark.slow),
    ],
)
def test_kills_cost_only_the_work_in_flight(
    starter_environment: InstalledEnvironment, tmp_path: Path, start: str, victim: str, times: int
) -> None:
    """Killing sandboxes or workers changes no verdict, and nothing that was finished runs twice.

    An item that one kill after the other hits is left unjudged by a round, and is had by the next, as in a stage.
    """
    config = CONFIG.model_copy(update={"start": start})
    with _killing(_kill_one(victim), times, tmp_path) as killed:
        execute_items(_items(80, SLOW), config=config, environment=starter_environment, ledger_folder=tmp_path)
    lines = list(Ledger(tmp_path).read())
    assert killed
    final = [line["verdict_key"] for line in lines if line["status"] != "infra_error"]
    assert sorted(final) == [f"{number:04}" for number in range(80)]
    assert {line["status"] for line in lines} <= {"pass", "infra_error"}
    assert all(line["attempts"] <= 5 for line in lines)


def test_a_sandbox_that_is_always_killed_is_no_fail_of_the_model(
    starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """When every attempt is disturbed from outside, the verdict is infra_error."""
    long = [replace(one, program="import time\ntime.sleep(3)\n" + one.program) for one in _items(1)]
    config = CONFIG.model_copy(update={"workers": 1, "slots_per_worker": 1, "start": "cold"})
    refused = False
    with _killing(_kill_one("--die-with-parent"), seconds_between=0.02):
        try:
            execute_items(long, config=config, environment=starter_environment, ledger_folder=tmp_path)
        except SandboxUnavailableError:
            refused = True  # the first look at the sandbox is what was killed: honest too
    assert refused or {line["status"] for line in Ledger(tmp_path).read()} == {"infra_error"}


def test_a_scheduler_with_separate_workers(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """The same code runs on a given scheduler whose workers are processes of their own."""
    with DaskHosts(tmp_path) as hosts:
        hosts.scheduler()
        hosts.worker()
        config = CONFIG.model_copy(update={"scheduler_address": hosts.address})
        ledger = tmp_path / "ledger"
        execute_items(_items(6), config=config, environment=starter_environment, ledger_folder=ledger)
        assert [line["status"] for line in Ledger(ledger).read()] == ["pass"] * 6


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_named(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """A wrong address is one clear error."""
    config = CONFIG.model_copy(update={"scheduler_address": "tcp://127.0.0.1:9"})
    with pytest.raises(ExecutionError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        execute_items(_items(1), config=config, environment=starter_environment, ledger_folder=tmp_path)


def test_long_work_of_a_live_worker_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a batch takes: only a cluster without any worker is given up."""
    monkeypatch.setattr(cluster, "_LIVENESS_SECONDS", 0.02)
    ended: SimpleQueue = SimpleQueue()
    threading.Timer(0.4, ended.put, ["batch"]).start()
    client = SimpleNamespace(status="running", nthreads=lambda: {"worker": 2})
    assert cluster._next(ended, client, 0.1) == "batch"
    client.nthreads = dict
    with pytest.raises(ExecutionError, match="no worker"):
        cluster._next(ended, client, 0.1)


@pytest.mark.parametrize(("backend", "processes"), [("docker", 1), ("local", 2)])
def test_only_local_execution_has_several_processes(
    backend: str, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a backend elsewhere, each process would start as many hosts as the configuration allows."""
    made: list[dict] = []
    monkeypatch.setattr("distributed.LocalCluster", lambda **given: made.append(given))
    cluster._local(ExecutionConfig(backend=backend, workers=2 * cluster._CORES_PER_PROCESS))
    assert [one["n_workers"] for one in made] == [processes]
