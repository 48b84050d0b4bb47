"""Fan-out over Dask: every item gets its verdict once, whatever is killed on the way."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError, SandboxUnavailableError
from bigcodeflow.core.progress import Status
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution import cluster
from bigcodeflow.execution.engine import Engine, execute_items
from bigcodeflow.execution.items import Origin, WorkItem
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


LOOP = "def task_func():\n    while True:\n        pass\n"
SLEEP = "import time\ndef task_func():\n    time.sleep(60)\n"
#: Computes for 1.5 s of CPU time and then says how long that took by the clock.
LONG = """import time
def task_func():
    began = time.monotonic()
    while time.process_time() < 1.5:
        pass
    print("took", time.monotonic() - began)
    return 42
"""


def _long(items: list[WorkItem]) -> list[WorkItem]:
    """With less time before they give way, so that a test need not last as long, and first in the order."""
    return [replace(one, long_after_seconds=0.3, expected_seconds=9.0) for one in items]


@pytest.mark.serial
def test_nothing_waits_behind_what_does_not_end(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """Two loops and four sleepers, more than there are slots, begin first; all else is judged before any of them ends.

    They have their whole limit all the same.
    """
    endless = _long([*_items(2, LOOP), *(replace(one, verdict_key=f"s{one.verdict_key}") for one in _items(4, SLEEP))])
    endless = [replace(one, time_seconds=8.0) for one in endless]
    short = [replace(one, verdict_key=f"x{one.verdict_key}") for one in _items(40)]
    with Engine(CONFIG, starter_environment, tmp_path) as engine:
        verdicts = list(engine.stream([[*endless, *short]]))
    first, last = verdicts[:40], verdicts[40:]
    assert {verdict["verdict_key"][0] for verdict in first} == {"x"}
    assert {verdict["status"] for verdict in first} == {"pass"}
    assert {verdict["status"] for verdict in last} == {"timeout"}
    assert all(verdict["wall_seconds"] > 7.9 for verdict in last)
    assert len([verdict for verdict in last if verdict["cpu_seconds"] > 6]) == 2


@pytest.mark.serial
def test_the_clock_of_a_paused_sample_is_stopped(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """A program that needs 1.5 s of its 4 s passes, however long others were in front of it."""
    config = CONFIG.model_copy(update={"workers": 1})
    long = [replace(one, verdict_key="long") for one in _long(_items(1, LONG))]
    others = [replace(one, verdict_key=f"x{one.verdict_key}") for one in _items(24, LONG.replace("1.5", "0.25"))]
    with Engine(config, starter_environment, tmp_path) as engine:
        verdicts = list(engine.stream([[*long, *others]]))
    assert [verdict["verdict_key"] for verdict in verdicts][-1] == "long"
    assert {verdict["status"] for verdict in verdicts} == {"pass"}
    assert float(verdicts[-1]["stdout"].split()[-1]) > LIMITS.time_seconds


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
        # The supervisor, a zygote, sample namespaces or a sample; less often than an item has attempts.
        ("warm", "supervisor.py", 4),
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
    others = [line for line in lines if line["status"] not in ("pass", "infra_error")]
    assert not others, others
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
    """However long an item takes: only a cluster without any worker is given up."""
    monkeypatch.setattr(cluster, "_LIVENESS_SECONDS", 0.02)
    client = SimpleNamespace(status="running", nthreads=lambda: {"worker": 2})
    watch = cluster._Watch(client, 0.1)

    def wait() -> None:
        for _ in range(20):
            time.sleep(0.03)
            watch.check()

    wait()
    client.nthreads = dict
    with pytest.raises(ExecutionError, match="no worker"):
        wait()
    client.status, client.scheduler = "closed", None
    with pytest.raises(ExecutionError, match=r"connection to the Dask scheduler .* was lost"):
        watch.check()


def test_the_status_names_what_is_executed(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """Items that have a sandbox, with whose they are and since when; those that wait for one are not open."""
    config = CONFIG.model_copy(update={"workers": 1, "slots_per_worker": 8})
    sleeping = "import time\ndef task_func():\n    time.sleep(5)\n    return 42\n"
    items = [
        replace(one, origin=Origin(f"T/{one.verdict_key}", "raw", 2), time_seconds=20.0) for one in _items(6, sleeping)
    ]
    seen: list[Status] = []
    with Engine(CONFIG, starter_environment, tmp_path / "none") as idle:
        assert idle.status() == Status(0, [])
    engine = Engine(config, starter_environment, tmp_path, progress=lambda _done, _total: seen.append(engine.status()))
    with engine:
        verdicts = list(engine.stream([items]))
    assert {verdict["status"] for verdict in verdicts} == {"pass"}
    open_items = [one for status in seen for one in status.longest]
    assert {one.task_id for one in open_items} <= {one.origin.task_id for one in items}
    assert {(one.variant, one.sample_index, one.limit_seconds) for one in open_items} == {("raw", 2, 20.0)}
    assert max(status.open_items for status in seen) >= 2
    assert all(status.open_items == len(status.longest) for status in seen)
    assert all(status.longest == sorted(status.longest, key=lambda one: one.since) for status in seen)


def test_a_stopped_engine_ends_soon_and_starts_nothing(
    starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """Whoever waits for verdicts gets an error within a moment, and no new cluster is started for what is open."""
    items = [*_items(1), *(replace(one, verdict_key="s") for one in _items(1, SLEEP))]
    with Engine(CONFIG, starter_environment, tmp_path) as engine:
        verdicts = engine.stream([items])
        assert next(verdicts)["verdict_key"] == "0000"
        engine.stop()
        began = time.monotonic()
        with pytest.raises(ExecutionError, match="stopped"):
            next(verdicts)
    assert time.monotonic() - began < 15
    assert len(list(Ledger(tmp_path).read())) == 1


def test_items_that_come_by_and_by_are_executed_as_they_come(
    starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """The source is asked while others are executed; an item that it gives twice is executed once."""
    items, seen = _items(6), list[str]()

    def chunks() -> Iterator[list[WorkItem] | None]:
        yield None
        yield items[:3]
        while len(seen) < 3:
            yield None
        yield []
        yield items[2:]

    with Engine(CONFIG, starter_environment, tmp_path) as engine:
        for verdict in engine.stream(chunks()):
            seen.append(verdict["verdict_key"])
        assert engine.counts(seen) == {"executed": 6, "executed_twice": 0}
    assert sorted(seen) == [one.verdict_key for one in items]


@pytest.mark.parametrize(("backend", "processes"), [("docker", 1), ("local", 2)])
def test_only_local_execution_has_several_processes(
    backend: str, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a backend elsewhere, each process would start as many hosts as the configuration allows."""
    made: list[dict] = []
    monkeypatch.setattr("distributed.LocalCluster", lambda **given: made.append(given))
    cluster._local(ExecutionConfig(backend=backend, workers=2 * cluster._CORES_PER_PROCESS))
    assert [one["n_workers"] for one in made] == [processes]
