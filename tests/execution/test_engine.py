"""Fan-out over Dask: every item gets its verdict once, whatever is killed on the way."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ExecutionError, SandboxUnavailableError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.engine import Executor, execute_items
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.verdicts import ONCE, Ledger, RerunPolicy

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
def _killing(kill: Callable[[], bool], times: int, ledger: Path) -> Iterator[list[bool]]:
    """Kill so often while the block runs, from the first verdict on; what is yielded counts the kills."""
    killed: list[bool] = []
    over = threading.Event()

    def work() -> None:
        while not list(ledger.iterdir()):
            time.sleep(0.05)
        while len(killed) < times and not over.wait(0.4):
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
        ("cold", "--die-with-parent", 3),
        ("warm", "--die-with-parent", 2),  # everything that is kept warm
        ("warm", "supervisor.py", 6),  # the supervisor, a zygote, sample namespaces or a sample
        ("warm", "multiprocessing.spawn", 2),
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
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            _kill_one("--die-with-parent")()
            time.sleep(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    long = [replace(one, program="import time\ntime.sleep(3)\n" + one.program) for one in _items(1)]
    config = CONFIG.model_copy(update={"workers": 1, "slots_per_worker": 1, "start": "cold"})
    refused = False
    try:
        execute_items(long, config=config, environment=starter_environment, ledger_folder=tmp_path)
    except SandboxUnavailableError:
        refused = True  # the first look at the sandbox is what was killed: honest too
    finally:
        stop.set()
        thread.join()
    assert refused or {line["status"] for line in Ledger(tmp_path).read()} == {"infra_error"}


def test_a_failure_that_is_to_be_confirmed_is_executed_again(backend: LocalBackend, tmp_path: Path) -> None:
    """Ground truths only: what fails three times is a failure, what passes the second time is flaky, a pass is a pass."""

    class Scripted(LocalBackend):
        def execute(self, work: WorkItem) -> Outcome:
            program = RIGHT if work.program.startswith(("right", "flaky")) and not tries.pop() else "x = 1"
            return backend.execute(replace(work, program=program))

    executor = Executor(CONFIG, backend._environment, tmp_path, policy=RerunPolicy(confirms_ground_truths=True))
    found = {}
    for name, failures in (("right", [False]), ("flaky", [False, True]), ("broken", [])):
        tries = failures
        judged = executor.judge(Scripted(backend._environment, LIMITS), item(name))
        found[name] = (judged["status"], judged["flaky"], judged["attempts"])
    assert found == {"right": ("pass", None, 1), "flaky": ("pass", True, 2), "broken": ("fail", False, 3)}
    unconfirmed = replace(executor, policy=ONCE)
    assert unconfirmed.judge(backend, item("x = 1"))["attempts"] == 1


def test_a_scheduler_with_separate_workers(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """The same code runs on a given scheduler whose workers are processes of their own."""
    address_file = tmp_path / "scheduler.json"
    environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "30s"}
    scheduler, worker = (
        subprocess.Popen(
            [sys.executable, "-m", *command.split(), "--scheduler-file", str(address_file)],
            env=environment,
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        for command in (
            "distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --dashboard-address 127.0.0.1:0",
            "distributed.cli.dask_worker --nthreads 2 --no-dashboard",
        )
    )
    try:
        deadline = time.monotonic() + 60
        while not address_file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        config = CONFIG.model_copy(update={"scheduler_address": json.loads(address_file.read_text())["address"]})
        ledger = tmp_path / "ledger"
        ledger.mkdir()
        execute_items(_items(6), config=config, environment=starter_environment, ledger_folder=ledger)
        assert [line["status"] for line in Ledger(ledger).read()] == ["pass"] * 6
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait(30)


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_named(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """A wrong address is one clear error."""
    config = CONFIG.model_copy(update={"scheduler_address": "tcp://127.0.0.1:9"})
    with pytest.raises(ExecutionError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        execute_items(_items(1), config=config, environment=starter_environment, ledger_folder=tmp_path)
