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

from bigcodeflow.execution.ledger import Ledger
from tests.endtoend.conftest import write_samples
from tests.endtoend.test_cancelling import executions, verdicts_in

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("starter_environment"), pytest.mark.timeout(600)]

_PATIENCE_SECONDS = 240.0
_SAMPLES = 8
_SMALL = ("--set", "sanitizing.mode=none", "--set", "execution.workers=1", "--set", "execution.integrity=off")

Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts the command in a group of its own, as a shell does; whatever is left of it is ended."""
    started: list[subprocess.Popen[str]] = []
    # Where a shell has put the tests into the background, signals are ignored, which a child would inherit.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL); from bigcodeflow.cli.main import main; main()"
    )

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
    _, said = process.communicate(timeout=_PATIENCE_SECONDS)
    assert process.returncode == 130, said
    _, alive = psutil.wait_procs(children, _PATIENCE_SECONDS)
    assert not [child.cmdline() for child in alive]
    assert "Traceback" not in said, said
    assert "Crash" not in said, said
    return said


def says_what_is_kept(said: str, store: Path) -> None:
    """The last line of an interrupted run, which has verdicts of some samples and no live file."""
    lines = said.strip().splitlines()
    assert lines[-1].startswith("stopped during ")
    assert "execution with " in lines[-1]
    assert "are kept in results/store; run the same again" in lines[-1]
    assert [line for line in lines if line.startswith("stopped")] == lines[-1:]
    assert not list((store / "live").iterdir())


@pytest.mark.slow
def test_an_interrupted_evaluation_waits_for_no_sample(begin: Begin, tmp_path: Path) -> None:
    """The verdict that came is kept; the sample that still runs would take longer than this test waits."""
    quick = write_samples(tmp_path / "samples.jsonl", 1, sleep_seconds=0.1).read_text()  # else a known ground truth
    endless = write_samples(tmp_path / "endless.jsonl", 2, sleep_seconds=10 * _PATIENCE_SECONDS)
    (tmp_path / "samples.jsonl").write_text(quick + endless.read_text().splitlines()[1])
    what = ("--dataset", "starter", "--samples", "samples.jsonl", "--ids", "0-1", *_SMALL[2:])
    process = begin("evaluate", *what, "--set", f"execution.limits.time_seconds={20 * _PATIENCE_SECONDS}")
    store = tmp_path / "results" / "store"
    wait_for(lambda: executions(store) and verdicts_in(store), process)
    says_what_is_kept(interrupted(process), store)
    assert len(verdicts_in(store)) == 1


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was(begin: Begin, tmp_path: Path) -> None:
    """With a Prefect server of its own: what was judged is not executed again, and the rest is."""
    # Judged in turn: however late the first verdict is seen, samples are still to be executed.
    sleep_seconds = 4.0
    write_samples(tmp_path / "sleepers.jsonl", _SAMPLES, sleep_seconds=sleep_seconds)
    chosen = ("--set", f"dataset.ids=0-{_SAMPLES - 1}", "--set", "samples.source=sleepers.jsonl")
    arguments = ("run", "starter", *chosen, *_SMALL, "--set", "execution.slots_per_worker=1")
    store = tmp_path / "results" / "store"

    def judged() -> set[str]:
        return set(verdicts_in(store, slept_seconds=sleep_seconds))  # ground truths execute beside the samples

    process = begin(*arguments)
    wait_for(judged, process)
    says_what_is_kept(interrupted(process), store)
    assert 0 < len(judged()) < _SAMPLES
    again = begin(*arguments)
    _, more = again.communicate(timeout=_PATIENCE_SECONDS)
    assert again.returncode == 0, more
    assert all(counted["executed_twice"] == 0 for counted in executions(store))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_a_signal_ends_leaves_no_process(begin: Begin, tmp_path: Path, number: signal.Signals) -> None:
    """Its own Prefect server included."""
    write_samples(tmp_path / "sleepers.jsonl", 2, sleep_seconds=10 * _PATIENCE_SECONDS)
    chosen = ("--set", "dataset.ids=0-1", "--set", "samples.source=sleepers.jsonl")
    process = begin("run", "starter", *chosen, *_SMALL)
    wait_for(lambda: executions(tmp_path / "results" / "store"), process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.communicate(timeout=_PATIENCE_SECONDS)
    assert process.returncode == -number
    _, alive = psutil.wait_procs(children, _PATIENCE_SECONDS)
    assert not [child.cmdline() for child in alive]


@pytest.mark.slow
def test_an_interrupted_sweep_does_not_wait_for_its_runs(begin: Begin, tmp_path: Path) -> None:
    """The number of finished runs, and no word of Prefect's about those that ended with it."""
    write_samples(tmp_path / "sleepers.jsonl", _SAMPLES, sleep_seconds=2.0)
    (tmp_path / "mine.yaml").write_text(
        "preset: starter\nmodels: [{answers: oracle}, {answers: sleepers.jsonl}]\n"
        f"common: {{dataset.ids: 0-{_SAMPLES - 1}, sanitizing.mode: none,\n"
        "  execution.workers: 1, execution.slots_per_worker: 1}\n"  # in turn: the second run lasts
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
