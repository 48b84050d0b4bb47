"""Ctrl-C while a model is asked, in a process of its own: what is kept is said, what is paid for is awaited."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bigcodeflow.generation.answer_ledger import AnswerLedger
from tests.generation.in_process import held
from tests.generation.providers.double import LIMIT_SECONDS, Completion, model_server, wait_for

GENERATING = Path(__file__).with_name("generating.py")


ASKING = """import signal, sys
from pathlib import Path
from bigcodeflow.config import load_settings
from bigcodeflow.generation.model_samples import model_samples

def handle(number, frame):
    sys.exit(number + 128)

signal.signal(signal.SIGTERM, handle)
settings = {"model": "openai:m", "base_url": sys.argv[2], "requests": {"concurrency": 8}}
config = load_settings({"samples": {"source": "model"}, "generation": settings}, "test").generation
tasks = [{"task_id": f"T/{number}", "complete_prompt": "x", "instruct_prompt": "x"} for number in range(40)]
model_samples(config, tasks, "complete", answers_folder=Path(sys.argv[1]), report=lambda *_: None, notify=print)
"""


def _start(folder: Path, address: str) -> "subprocess.Popen[str]":
    command = [sys.executable, str(GENERATING), str(folder), address, "run", "40", "1", "8"]
    environment = {**os.environ, "PYTHONPATH": str(GENERATING.parents[2])}
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_one_ctrl_c_keeps_what_is_under_way(tmp_path: Path) -> None:
    """Eight requests are under way: no further one goes, all eight are kept, and both are said."""
    interrupted = threading.Event()
    held_back = Completion(until=interrupted)
    with model_server([held_back]) as server, _start(tmp_path, server.url("openai")) as process:
        assert wait_for(lambda: len(server.requests) >= 8)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        first = process.stderr.readline()
        interrupted.set()
        _, errors = process.communicate(timeout=LIMIT_SECONDS)
        assert len(server.requests) == 8
    assert "interrupted: 0 answers of this run are kept; waiting for 8 requests under way, which are paid for" in first
    assert "8 of 8 came and are kept" in errors
    assert len(held(AnswerLedger(tmp_path))) == 8


@pytest.mark.slow
def test_a_second_ctrl_c_waits_for_no_answer(tmp_path: Path) -> None:
    never = Completion(until=threading.Event())
    with model_server([never]) as server, _start(tmp_path, server.url("openai")) as process:
        assert wait_for(lambda: len(server.requests) >= 8)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "waiting for 8 requests" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode != 0


def test_a_cancelled_run_keeps_what_is_under_way_as_well(tmp_path: Path) -> None:
    """Prefect cancels by SIGTERM: what is paid for is awaited, then the signal is handled as it was to be."""
    interrupted = threading.Event()
    with model_server([Completion(until=interrupted)]) as server:
        command = [sys.executable, "-u", "-c", ASKING, str(tmp_path), server.url("openai")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert wait_for(lambda: len(server.requests) >= 8)
            process.terminate()
            assert process.stdout is not None
            assert "waiting for 8 requests" in process.stdout.readline()
            interrupted.set()
            printed, _ = process.communicate(timeout=LIMIT_SECONDS)
        assert len(server.requests) == 8
    assert "8 of 8 came and are kept" in printed
    assert process.returncode == signal.SIGTERM + 128
    [folder] = {path.parent for path in tmp_path.rglob("lock")}
    assert len(held(AnswerLedger(folder))) == 8
