"""Fan-out over Dask: every item gets its verdict once, whatever is killed on the way."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import Mock

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.progress import Status
from bigcodeflow.execution import cluster
from bigcodeflow.execution.engine import Engine, execute_items
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import Turn
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import Origin, WorkItem

from .conftest import CONFIG, LIMITS, RIGHT, item, judged

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]

SLOW = "import time\ndef task_func():\n    time.sleep(0.3)\n    return 42\n"


def _items(count: int, program: str = RIGHT) -> list[WorkItem]:
    return [
        replace(item(program), verdict_key=f"{number:04}", program=f"{program}# {number}") for number in range(count)
    ]


def test_every_item_gets_one_verdict(
    workers: Workers, starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """Forty items on two workers: forty verdicts, and progress that ends at all of them."""
    seen: list[tuple[int, int]] = []
    where = {"config": CONFIG, "environment": starter_environment, "ledger_folder": tmp_path, "workers": workers}
    execute_items(_items(40), **where, progress=lambda done, total: seen.append((done, total)))
    lines = list(Ledger(tmp_path).read())
    assert sorted(line["verdict_key"] for line in lines) == [f"{number:04}" for number in range(40)]
    assert {line["status"] for line in lines} == {"pass"}
    assert (seen[0], seen[-1]) == ((0, 40), (40, 40))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


LOOP = "def task_func():\n    while True:\n        pass\n"
SLEEP = "import time\ndef task_func():\n    time.sleep(9999)\n"
#: More of them than there are slots.
ENDLESS, SHORT = [LOOP, SLEEP, SLEEP, SLEEP, SLEEP], 12


class Stopped(NamedTuple):
    """An engine with endless and short items, stopped when the short ones were judged."""

    verdicts: list[dict]
    ledger: list[dict]
    seen: list[Status]


@pytest.fixture(scope="module")
def stopped(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Endless items begin first; the engine is stopped when the workers have said that they execute them."""
    folder, verdicts, seen = tmp_path_factory.mktemp("ledger"), list[dict](), list[Status]()
    endless = [
        # Seconds before they give way, so that a test need not last as long; the first in the order.
        replace(
            item(program, seconds=900.0), verdict_key=f"endless {number}", origin=Origin(f"T/{number}", "raw", 2),
            long_after_seconds=0.3, expected_seconds=9.0,
        ) for number, program in enumerate(ENDLESS)
    ]  # fmt: skip

    def look(done: int, total: int) -> None:
        seen.append(engine.status())
        if done == SHORT and seen[-1].open_items == len(ENDLESS):
            raise ExecutionError("stopped")

    with Engine(CONFIG, starter_environment, folder, progress=look) as engine:
        assert engine.status() == Status(0, [])
        with pytest.raises(ExecutionError, match="stopped"):
            verdicts.extend(engine.stream([[*endless, *_items(SHORT)]]))
    return Stopped(verdicts, list(Ledger(folder).read()), seen)


@pytest.mark.slow
def test_nothing_waits_behind_what_does_not_end(stopped: Stopped) -> None:
    """A loop and four sleepers, more than there are slots, begin first; all else is judged meanwhile."""
    assert sorted(one["verdict_key"] for one in stopped.ledger) == [f"{number:04}" for number in range(SHORT)]
    assert {one["status"] for one in stopped.ledger} == {"pass"}


def test_the_status_names_what_is_executed(stopped: Stopped) -> None:
    """Items that have a sandbox, with whose they are and since when; those that wait for one are not open."""
    named = [one for status in stopped.seen for one in status.longest if one.variant]
    assert {one.task_id for one in named} == {f"T/{number}" for number in range(len(ENDLESS))}
    assert {(one.variant, one.sample_index, one.limit_seconds) for one in named} == {("raw", 2, 900.0)}
    assert all(status.open_items == len(status.longest) for status in stopped.seen)
    assert all(status.longest == sorted(status.longest, key=lambda one: one.since) for status in stopped.seen)


class _PausingTurn(Turn):
    """Pauses a long sample once, for longer than its time limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self.pauses = seconds, 0

    def used(self, cores: float, memory_mib: float, *, is_long: bool) -> bool:
        return is_long and not self.pauses

    def wait(self) -> None:
        self.pauses += 1
        time.sleep(self._seconds)


@pytest.mark.slow
def test_the_clock_of_a_paused_sample_is_stopped(starter_environment: InstalledEnvironment) -> None:
    """A program that needs half a second of its two passes, however long others were in front of it."""
    turn = _PausingTurn(2.2)
    gate = SimpleNamespace(admitted=lambda *_: nullcontext(turn))
    program = """import time
def task_func():
    began = time.monotonic()
    while time.process_time() < 0.6:
        pass
    print(time.monotonic() - began)
    return 42
"""
    with closing(LocalBackend(starter_environment, LIMITS, admission=gate)) as backend:
        found = judged(backend, replace(item(program, seconds=2.0), long_after_seconds=0.1))
    assert (found["status"], turn.pauses) == ("pass", 1)
    assert float(found["stdout"]) > 2


def test_no_work_starts_no_cluster(
    starter_environment: InstalledEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose verdicts are all known does not wait for workers."""
    monkeypatch.setattr("distributed.LocalCluster", Mock(side_effect=AssertionError("started")))
    with Engine(CONFIG, starter_environment, tmp_path) as engine:
        assert engine.verdicts([]) == {}


def _kill_one(text: str) -> bool:
    """Kill one of this process's descendants whose command line holds a text."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            found += [process] if text in " ".join(process.cmdline()) else []
    with suppress(psutil.NoSuchProcess, IndexError):
        random.choice(found).send_signal(signal.SIGKILL)
        return True
    return False


@pytest.mark.parametrize(
    ("start", "victim"),
    [
        pytest.param("cold", "--die-with-parent", marks=pytest.mark.slow),
        ("warm", "--die-with-parent"),  # everything that is kept warm
        ("warm", "supervisor.py"),  # the supervisor, a zygote, sample namespaces or a sample
        pytest.param("warm", "multiprocessing.forkserver", marks=pytest.mark.slow),
    ],
)
def test_kills_cost_only_the_work_in_flight(
    workers: Workers, starter_environment: InstalledEnvironment, tmp_path: Path, start: str, victim: str
) -> None:
    """Killing sandboxes or workers changes no verdict, and nothing that was finished runs twice.

    An item that one kill after the other hits is left unjudged by a round, and is had by the next, as in a stage.
    """
    config, killed = CONFIG.model_copy(update={"start": start}), 0
    shared = workers if victim != "multiprocessing.forkserver" and start == CONFIG.start else None
    with Engine(config, starter_environment, tmp_path, workers=shared) as engine:
        for number, _ in enumerate(engine.stream([_items(32, SLOW)])):
            if number % 4 == 0 and killed < 3:  # fewer kills than an item has attempts
                killed += _kill_one(victim)
    lines = list(Ledger(tmp_path).read())
    assert killed
    final = [line["verdict_key"] for line in lines if line["status"] != "infra_error"]
    assert sorted(final) == [f"{number:04}" for number in range(32)]
    others = [line for line in lines if line["status"] not in ("pass", "infra_error")]
    assert not others, others
    assert all(line["attempts"] <= 5 for line in lines)


@pytest.mark.slow
def test_workers_that_die_in_their_start_are_replaced(
    starter_environment: InstalledEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask gives up a worker that is killed before it is ready; a new cluster executes the rest, and nothing is lost."""
    monkeypatch.setattr(cluster, "_LIVENESS_SECONDS", 0.1)
    monkeypatch.setattr(cluster, "_LOCAL_PATIENCE_SECONDS", 3.0)
    with Engine(CONFIG, starter_environment, tmp_path) as engine:
        verdicts = engine.stream([_items(8, SLOW)])
        found = [next(verdicts)]
        last_kill = time.monotonic()
        while time.monotonic() - last_kill < 2.0:  # until nothing starts any more
            if _kill_one("multiprocessing.forkserver"):
                last_kill = time.monotonic()
            time.sleep(0.02)
        found += verdicts
    assert {one["verdict_key"] for one in found} == {f"{number:04}" for number in range(8)}
    assert {one["status"] for one in found} == {"pass"}


def test_what_a_round_leaves_unjudged_is_had_by_the_next(
    starter_environment: InstalledEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two more rounds, each on fresh workers, and then it is an infra_error; a lost connection repeats what is open."""
    made, sent = list[Workers](), list[list[str]]()

    class Rounds(Workers):
        """The item of number n is judged by the round of number n."""

        def execute(self, chunks: Iterator[list[WorkItem] | None], *_: object) -> Iterator[tuple]:
            made.extend([self] if self not in made else [])
            items = [one for chunk in chunks for one in chunk or ()]
            sent.append([one.verdict_key for one in items])
            for one in items:
                if len(sent) == 1 and one is items[2]:
                    raise cluster.ClusterLostError("lost")
                status = "pass" if int(one.verdict_key) < len(made) else "infra_error"
                yield one, ({"verdict_key": one.verdict_key, "status": status, "exit": "signal 9"}, []), None

    monkeypatch.setattr("bigcodeflow.execution.engine.Workers", Rounds)
    with Engine(CONFIG, starter_environment, tmp_path) as running:
        found = running.verdicts(_items(4))
    assert [found[one.verdict_key]["status"] for one in _items(4)] == [*["pass"] * 3, "infra_error"]
    first, second, third, fourth = (one.verdict_key for one in _items(4))
    assert sent == [[first, second, third, fourth], [third, fourth], [second, third, fourth], [third, fourth]]


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


def test_items_that_come_by_and_by_are_executed_as_they_come(
    workers: Workers, starter_environment: InstalledEnvironment, tmp_path: Path
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

    with Engine(CONFIG, starter_environment, tmp_path, workers=workers) as engine:
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
    cluster._local(ExecutionConfig(backend=backend, workers=2 * cluster.CORES_PER_PROCESS))
    assert [one["n_workers"] for one in made] == [processes]
