"""Runs that ask a model, killed or interrupted: what is paid for is kept, and nothing is bought twice."""

import math
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from bigcodeflow.generation.answer_ledger import AnswerLedger
from tests.generation.in_process import held
from tests.generation.providers.double import (
    LIMIT_SECONDS,
    Break,
    Completion,
    Fail,
    ModelServer,
    Outcome,
    Received,
    model_server,
    wait_for,
)

Key = tuple[str, int]
_GENERATING = Path(__file__).with_name("generating.py")


# A full server, a broken one, a connection that is dropped before and in the middle, and no JSON.
_FAULTS = (Fail(429, headers={"retry-after": "0"}), Fail(503), Break("before"), Break("body"), Break("garbage"))


class Model:
    """A script that remembers every answer it gave, and lets a share of the requests end in some fault."""

    def __init__(self, *, seed: int, faults: float = 0.3) -> None:
        self.asked: list[tuple[str, Key]] = []
        """The run that a request came from, and the sample that it asked for."""
        self.given: defaultdict[Key, list[str]] = defaultdict(list)
        self.most: float = math.inf
        """Answers that are given; more requests are turned away."""
        self.progressed = threading.Event()
        self._chance, self._faults = Random(seed), faults

    @property
    def answers(self) -> int:
        return sum(map(len, self.given.values()))

    def __call__(self, received: Received) -> Outcome:
        key = (received.body["task"], received.body["sample"])
        self.asked.append((received.body["run"], key))
        if self.answers >= self.most:
            return _FAULTS[0]
        if self._chance.random() < self._faults:
            return self._chance.choice(_FAULTS)
        self.given[key].append(f"{key}: answer {received.number}")
        self.progressed.set()
        return Completion(self.given[key][-1], latency_seconds=self._chance.uniform(0.015, 0.045))


class Work(NamedTuple):
    """What a run asks for."""

    tasks: int
    samples: int
    slots: int


def started(server: ModelServer, folder: Path, run: str, work: Work) -> subprocess.Popen:
    arguments = (folder, server.url("openai"), run, *work)
    return subprocess.Popen([sys.executable, str(_GENERATING), *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def killed_after(process: subprocess.Popen, model: Model, answers: int, seconds: float) -> bool:
    """Kill a run when the server has given so many more answers, and a moment later; says whether it still ran."""
    goal = model.answers + answers
    model.most = goal + 16  # so that the run does not end while this process is held up
    with process:
        while process.poll() is None and model.answers < goal:
            model.progressed.clear()
            model.progressed.wait(0.2)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    model.most = math.inf
    return process.returncode == -signal.SIGKILL


def kept(folder: Path) -> set[Key]:
    return {(key.task_id, key.sample_index) for key in AnswerLedger(folder).keys()}  # noqa: SIM118 -- no mapping


def bought_again(model: Model, run: str, keys: set[Key]) -> set[Key]:
    """Samples of these that the run asked for."""
    return keys & {key for asking, key in model.asked if asking == run}


def survives_kills(folder: Path, work: Work, *, kills: int, seed: int) -> None:
    """Kill a run again and again, let it end, and compare what the server gave with what was kept."""
    chance, before, model = Random(seed), set[Key](), Model(seed=seed)
    with model_server(model) as server:
        for number in range(kills):
            process = started(server, folder, f"run {number}", work)
            answers = chance.randint(1, work.tasks * work.samples // (kills + 1))
            assert killed_after(process, model, answers, chance.uniform(0, 0.05))
            assert bought_again(model, f"run {number}", before) == set()
            before = kept(folder)
        last = started(server, folder, "last", work)
        _, errors = last.communicate(timeout=LIMIT_SECONDS)
        assert last.returncode == 0, errors
        assert bought_again(model, "last", before) == set()
    everything = {(f"Task/{task}", index) for task in range(work.tasks) for index in range(work.samples)}
    texts = {one.key: one.answer.text for one in AnswerLedger(folder).answers()}
    assert {(key.task_id, key.sample_index) for key in texts} == everything
    assert sum(len(record.answers) for record in AnswerLedger(folder).records()) == len(everything)
    assert all(text in model.given[key.task_id, key.sample_index] for key, text in texts.items())
    assert model.answers - len(everything) <= kills * work.slots  # what was under way, and nothing else


def test_killed_runs_lose_nothing_and_pay_once(tmp_path: Path) -> None:
    """Two kills at random moments under 30 % faults: each sample is kept once, as the server gave it."""
    survives_kills(tmp_path, Work(tasks=70, samples=2, slots=8), kills=2, seed=1)


@pytest.mark.slow
def test_a_whole_benchmark_survives_twenty_kills(tmp_path: Path) -> None:
    """1,140 tasks of three samples each, killed twenty times under 30 % faults."""
    survives_kills(tmp_path, Work(tasks=1140, samples=3, slots=64), kills=20, seed=3)


@pytest.mark.slow
def test_two_processes_on_one_folder_pay_once(tmp_path: Path) -> None:
    """Two runs of one setting that are started together, and one of which is killed, ask for no sample twice."""
    model = Model(seed=7, faults=0.0)
    with model_server(model) as server:
        work = Work(tasks=100, samples=1, slots=8)
        pair = [started(server, tmp_path, f"run {n}", work) for n in range(2)]
        assert killed_after(pair[0], model, 40, 0.01)
        _, errors = pair[1].communicate(timeout=LIMIT_SECONDS)
        assert pair[1].returncode == 0, errors
    assert kept(tmp_path) == {(f"Task/{n}", 0) for n in range(100)}
    assert model.answers <= 100 + 8


ASKING = """import signal, sys
from pathlib import Path
from bigcodeflow.config import load_settings
from bigcodeflow.generation.model_samples import model_samples

def handle(number, frame):
    sys.exit(number + 128)

signal.signal(signal.SIGTERM, handle)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where a shell put the tests into the background
settings = {"model": "openai:m", "base_url": sys.argv[2], "requests": {"concurrency": 8}}
config = load_settings({"samples": {"source": "model"}, "generation": settings}, "test").generation
tasks = [{"task_id": f"T/{number}", "complete_prompt": "x", "instruct_prompt": "x"} for number in range(40)]
model_samples(config, tasks, "complete", answers_folder=Path(sys.argv[1]), report=lambda *_: None, notify=print)
"""


def _asking(folder: Path, server: ModelServer) -> "subprocess.Popen[str]":
    """A run that has eight requests under way."""
    command = [sys.executable, "-u", "-c", ASKING, str(folder), server.url("openai")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert wait_for(lambda: len(server.requests) >= 8)
    return process


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, signal.SIGTERM + 128)])
def test_an_interrupted_run_keeps_what_is_under_way(how: signal.Signals, status: int, tmp_path: Path) -> None:
    """No further request goes, all eight are kept, and both are said; then the signal is handled as it was to be.

    Prefect cancels by SIGTERM.
    """
    interrupted = threading.Event()
    with model_server([Completion(until=interrupted)]) as server, _asking(tmp_path, server) as process:
        process.send_signal(how)
        assert process.stdout is not None
        said = "interrupted: 0 answers of this run are kept; waiting for 8 requests under way, which are paid for"
        assert said in process.stdout.readline()
        interrupted.set()
        printed, _ = process.communicate(timeout=LIMIT_SECONDS)
        assert len(server.requests) == 8
    assert "8 of 8 replies came and are kept" in printed
    assert process.returncode == status
    [folder] = {path.parent for path in tmp_path.rglob("lock")}
    assert len(held(AnswerLedger(folder))) == 8


@pytest.mark.slow
def test_a_second_ctrl_c_waits_for_no_answer(tmp_path: Path) -> None:
    with model_server([Completion(until=threading.Event())]) as server, _asking(tmp_path, server) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert "waiting for 8 requests" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode != 0
