"""Ctrl-C as a terminal sends it, to the whole group: one message that says what is kept, exit code 130, and no traceback."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bigcodeflow.execution.verdicts import Ledger
from tests.endtoend.conftest import write_samples
from tests.endtoend.test_cancelling import executions, verdicts_in
from tests.generation.providers.double import Completion, Received, model_server

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("starter_environment"), pytest.mark.timeout(600)]

_PATIENCE_SECONDS = 240.0
_SAMPLES = 8
_SMALL = ("--set", "sanitizing.mode=none", "--set", "execution.workers=1", "--set", "execution.integrity=off")

Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts the command in a group of its own, as a shell does; whatever is left of it is ended."""
    started: list[subprocess.Popen[str]] = []
    # Where a shell has put the tests into the background, Ctrl-C is ignored, which a child would inherit.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from bigcodeflow.cli.main import main; main()"

    def call(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=tmp_path,
            env=os.environ | {"NO_COLOR": "1", "PREFECT_HOME": str(tmp_path / "prefect")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def wait_for(found: Callable[[], Any], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def interrupted(process: "subprocess.Popen[str]") -> str:
    """What the command says from the moment on when it is interrupted: its last lines on standard error.

    Nothing that it started is left, its own Prefect server included, which ignores Ctrl-C.
    """
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert time.monotonic() - began < 30
    _, alive = psutil.wait_procs(children, 20)
    assert not [child.cmdline() for child in alive]
    assert "Traceback" not in said, said
    assert "Crash" not in said, said
    return said


@pytest.mark.parametrize("command", ["evaluate", pytest.param("run", marks=pytest.mark.slow)])
def test_an_interrupted_run_goes_on_where_it_was(begin: Begin, tmp_path: Path, command: str) -> None:
    """Without Prefect and with a server of its own: the verdicts that came are kept, and the rest is executed then."""
    write_samples(tmp_path / "sleepers.jsonl", _SAMPLES, sleep_seconds=1.0)
    longer = write_samples(tmp_path / "longer.jsonl", _SAMPLES, sleep_seconds=8.0)
    halves = [path.read_text().splitlines(keepends=True) for path in (tmp_path / "sleepers.jsonl", longer)]
    # However late the first verdict is seen, some samples are still under way.
    (tmp_path / "sleepers.jsonl").write_text("".join(halves[0][: _SAMPLES // 2] + halves[1][_SAMPLES // 2 :]))
    what = ("--dataset", "starter", "--samples", "sleepers.jsonl", "--ids", f"0-{_SAMPLES - 1}")
    chosen = ("--set", f"dataset.ids=0-{_SAMPLES - 1}", "--set", "samples.source=sleepers.jsonl")
    arguments = ("evaluate", *what, *_SMALL[2:]) if command == "evaluate" else ("run", "starter", *chosen, *_SMALL)
    store = tmp_path / "results" / "store"
    process = begin(*arguments)
    wait_for(lambda: executions(store) and verdicts_in(store), process)
    said = interrupted(process).strip().splitlines()
    assert said[-1].startswith("stopped during execution with ")
    assert "are kept in results/store; run the same again" in said[-1]
    assert [line for line in said if line.startswith("stopped")] == said[-1:]
    assert not list((store / "live").iterdir())
    judged = len(set(verdicts_in(store)))
    assert 0 < judged < _SAMPLES
    again = begin(*arguments)
    _, more = again.communicate(timeout=_PATIENCE_SECONDS)
    assert again.returncode == 0, more
    assert all(counted["executed_twice"] == 0 for counted in executions(store))


def test_an_interrupted_generation_keeps_the_answers(begin: Begin, tmp_path: Path) -> None:
    """What was answered is not asked for again."""

    def answer(_: Received) -> Completion:
        latency_seconds = 60.0 if len(server.requests) > 2 else 0.05
        return Completion("```python\ndef task_func():\n    return 1\n```", latency_seconds=latency_seconds)

    with model_server(answer) as server:
        what = ("--model", "openai:m", "--base-url", server.url("openai"), "--dataset", "starter", "--ids", "0-5")
        process = begin("generate", *what, "--concurrency", "2")
        wait_for(lambda: len(server.requests) >= 4, process)
        said = interrupted(process)
    assert "stopped" in said.strip().splitlines()[-1]


@pytest.mark.slow
def test_an_interrupted_sweep_does_not_wait_for_its_runs(begin: Begin, tmp_path: Path) -> None:
    """The number of finished runs, and no word of Prefect's about those that ended with it."""
    write_samples(tmp_path / "sleepers.jsonl", _SAMPLES, sleep_seconds=2.0)
    (tmp_path / "mine.yaml").write_text(
        "preset: starter\nmodels: [{answers: oracle}, {answers: sleepers.jsonl}]\n"
        f"common: {{dataset.ids: 0-{_SAMPLES - 1}, sanitizing.mode: none, execution.workers: 1}}\n"
    )
    process, store = begin("sweep", "mine.yaml"), tmp_path / "results" / "store"
    wait_for(lambda: len(executions(store)) >= 1 and any(map(_begun, store.glob("execution/*.partial"))), process)
    said = interrupted(process).strip().splitlines()
    assert "of 2 runs are finished" in said[-1]
    assert "run the same sweep again" in said[-1]


def _begun(folder: Path) -> bool:
    try:
        return any(True for _ in Ledger(folder).read())
    except FileNotFoundError:  # published meanwhile
        return False
