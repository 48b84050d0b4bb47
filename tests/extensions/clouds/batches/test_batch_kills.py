"""Kill -9 of a run that drives batches, at its worst moments and at random ones: nothing is lost, nothing paid twice."""

import multiprocessing
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from bigcodeflow.generation.model_api import Request

from .double import CREATE, Account, DroppedError, account_server
from .driving import SECONDS, recorded, request, run_in_process

TWENTY = [request(number) for number in range(20)]

# Forked from a process that has the SDKs imported: importing them anew for each life would take most of the time.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([run_in_process.__module__])


@pytest.fixture(params=["openai", "anthropic"])
def account(request: pytest.FixtureRequest) -> Iterator[Account]:
    """One of each way to find a lost batch; the others are found as OpenAI's are."""
    with account_server(Account(dialect=request.param)) as served:
        yield served


def _start(account: Account, folder: Path, requests: Sequence[Request], *, doubt_seconds: float = 2.0) -> BaseProcess:
    life = ((account.dialect, account.base_url, account.key), folder, requests, doubt_seconds)
    process = _PROCESSES.Process(target=run_in_process, args=life)
    process.start()
    return process


class _Killing:
    """Kills a run from a thread of the account's, which goes on when it is dead."""

    def __init__(self) -> None:
        self._started, self._dead = threading.Event(), threading.Event()

    def strike(self) -> None:
        assert self._started.wait(SECONDS)
        self._process.kill()
        assert self._dead.wait(SECONDS)

    def run(self, account: Account, folder: Path, requests: Sequence[Request]) -> None:
        """A run from its start to its violent end."""
        self._process = _start(account, folder, requests)
        self._started.set()
        self._process.join(SECONDS)
        self._dead.set()
        assert self._process.exitcode == -signal.SIGKILL


def _finish(account: Account, folder: Path, requests: Sequence[Request], *, doubt_seconds: float = 2.0) -> None:
    process = _start(account, folder, requests, doubt_seconds=doubt_seconds)
    process.join(SECONDS)
    assert process.exitcode == 0


def _expect_each_once(account: Account, folder: Path, requests: Sequence[Request]) -> None:
    texts = {one.task_id: f"answer to {one.prompt.messages[-1].text}" for one in requests}
    assert recorded(folder) == sorted((task_id, 0, text) for task_id, text in texts.items())
    assert set(account.prompts.values()) == {1}
    assert len(account.prompts) == len(requests)


def _killed_at_creation(account: Account, folder: Path, hook: str, *, nth: int = 1) -> None:
    """Kill a run while its nth batch is created; the hook says whether the account has taken it by then."""
    killing, seen = _Killing(), []

    def kill(method: str, path: str) -> None:
        if (method, path) == ("POST", CREATE[account.dialect]):
            seen.append(path)
            if len(seen) == nth:
                killing.strike()
                raise DroppedError

    setattr(account, hook, kill)
    killing.run(account, folder, TWENTY)
    setattr(account, hook, lambda _method, _path: None)


@pytest.mark.parametrize("hook", [pytest.param("before", marks=pytest.mark.slow), "after"])
def test_killed_while_submitting(account: Account, tmp_path: Path, hook: str) -> None:
    """Whether the batch had arrived or not when the run died, its requests are handed in exactly once."""
    _killed_at_creation(account, tmp_path, hook, nth=2)
    _finish(account, tmp_path, TWENTY)
    _expect_each_once(account, tmp_path, TWENTY)


@pytest.mark.slow
def test_a_batch_that_arrives_after_the_restart(account: Account, tmp_path: Path) -> None:
    """The account takes the dead run's batch only when the next run has already looked for it."""
    looked, killed, arrived = threading.Event(), threading.Event(), threading.Event()

    def before(method: str, path: str) -> None:
        if path == CREATE[account.dialect]:
            if method == "GET":
                threading.Timer(0.1, looked.set).start()
            elif not killed.is_set():
                killed.set()
                assert looked.wait(SECONDS)
                late.append(threading.get_ident())

    def after(method: str, path: str) -> None:
        if threading.get_ident() in late:
            arrived.set()

    late: list[int] = []
    account.before, account.after = before, after
    process = _start(account, tmp_path, TWENTY[:7])
    assert killed.wait(SECONDS)
    process.kill()
    process.join(SECONDS)
    _finish(account, tmp_path, TWENTY[:7], doubt_seconds=SECONDS)
    assert arrived.wait(SECONDS)
    _expect_each_once(account, tmp_path, TWENTY[:7])


@pytest.mark.slow
def test_killed_while_collecting(account: Account, tmp_path: Path) -> None:
    """Answers that were recorded before the kill are not recorded again, and the others are read again."""
    many = [request(number) for number in range(60)]
    killing = _Killing()
    account.pause_in_results = killing.strike
    killing.run(account, tmp_path, many)
    assert len(account.batches) == 1
    _finish(account, tmp_path, many)
    _expect_each_once(account, tmp_path, many)


class _Alarm:
    """Rings when the account has had so many calls."""

    def __init__(self, calls: int) -> None:
        self._left, self.rung = calls, threading.Event()

    def __call__(self, method: str, path: str) -> None:
        self._left -= 1
        if self._left <= 0:
            self.rung.set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_killed_at_random_moments(account: Account, tmp_path: Path, seed: int) -> None:
    """However often a run is killed, and whenever, the last one ends with every sample once and each paid once."""
    moments = random.Random(seed)
    account.polls = 8
    ends = []
    for _ in range(4):
        alarm = account.before = _Alarm(moments.randint(1, 8))
        process = _start(account, tmp_path, TWENTY)
        while process.is_alive() and not alarm.rung.wait(0.01):
            pass
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        process.join(SECONDS)
        ends.append(process.exitcode)
    account.before = lambda _method, _path: None
    _finish(account, tmp_path, TWENTY)
    assert ends.count(-signal.SIGKILL) >= 2
    _expect_each_once(account, tmp_path, TWENTY)
