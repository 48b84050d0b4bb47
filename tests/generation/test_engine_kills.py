"""kill -9 of a generating process, over and over: every sample comes once, and none that was kept is bought again."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from bigcodeflow.generation.answer_ledger import AnswerLedger

from .counting_server import CountingServer, Key

_GENERATING = Path(__file__).with_name("generating.py")


class Work(NamedTuple):
    """What a run asks for."""

    tasks: int
    samples: int
    slots: int


def started(server: CountingServer, folder: Path, run: str, work: Work) -> subprocess.Popen:
    arguments = (folder, server.port, run, *work)
    return subprocess.Popen([sys.executable, str(_GENERATING), *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def killed_after(process: subprocess.Popen, server: CountingServer, answers: int, seconds: float) -> bool:
    """Kill a run when the server has given so many more answers, and a moment later; says whether it still ran."""
    goal = sum(map(len, server.given.values())) + answers
    with process:
        while process.poll() is None and sum(map(len, server.given.values())) < goal:
            server.progressed.clear()
            server.progressed.wait(0.2)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def kept(folder: Path) -> set[Key]:
    return {(key.task_id, key.sample_index) for key in AnswerLedger(folder).keys()}  # noqa: SIM118 -- no mapping


def bought_again(server: CountingServer, run: str, keys: set[Key]) -> set[Key]:
    """Samples of these that the run asked for."""
    return keys & {key for asked in server.asked if asked.run == run for key in asked.keys}


def survives_kills(folder: Path, work: Work, *, kills: int, seed: int) -> None:
    """Kill a run again and again, let it end, and compare what the server gave with what was kept."""
    chance, before = Random(seed), set[Key]()
    with CountingServer(seed=seed) as server:
        for number in range(kills):
            process = started(server, folder, f"run {number}", work)
            answers = chance.randint(1, work.tasks * work.samples // (kills + 1))
            assert killed_after(process, server, answers, chance.uniform(0, 0.05))
            assert bought_again(server, f"run {number}", before) == set()
            before = kept(folder)
        last = started(server, folder, "last", work)
        _, errors = last.communicate(timeout=240)
        assert last.returncode == 0, errors
        assert bought_again(server, "last", before) == set()
    everything = {(f"Task/{task}", index) for task in range(work.tasks) for index in range(work.samples)}
    texts = {one.key: one.answer.text for one in AnswerLedger(folder).answers()}
    assert {(key.task_id, key.sample_index) for key in texts} == everything
    assert sum(len(record.answers) for record in AnswerLedger(folder).records()) == len(everything)
    assert all(text in server.given[key.task_id, key.sample_index] for key, text in texts.items())
    given = sum(map(len, server.given.values()))
    assert given - len(everything) <= kills * work.slots  # what was under way, and nothing else


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_runs_lose_nothing_and_pay_once(tmp_path: Path, seed: int) -> None:
    """Four kills at random moments under 30 % faults: each sample is kept once, as the server gave it."""
    survives_kills(tmp_path, Work(tasks=200, samples=2, slots=8), kills=4, seed=seed)


@pytest.mark.slow
def test_a_whole_benchmark_survives_twenty_kills(tmp_path: Path) -> None:
    """1,140 tasks of three samples each, killed twenty times under 30 % faults."""
    survives_kills(tmp_path, Work(tasks=1140, samples=3, slots=64), kills=20, seed=3)


def test_two_processes_on_one_folder_pay_once(tmp_path: Path) -> None:
    """Two runs of one setting that are started together, and one of which is killed, ask for no sample twice."""
    with CountingServer(seed=7, faults=0.0) as server:
        work = Work(tasks=100, samples=1, slots=8)
        pair = [started(server, tmp_path, f"run {n}", work) for n in range(2)]
        assert killed_after(pair[0], server, 40, 0.01)
        _, errors = pair[1].communicate(timeout=120)
        assert pair[1].returncode == 0, errors
    assert kept(tmp_path) == {(f"Task/{n}", 0) for n in range(100)}
    assert sum(map(len, server.given.values())) <= 100 + 8
