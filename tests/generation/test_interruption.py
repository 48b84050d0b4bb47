"""Ctrl-C while a model is asked, in a process of its own: what is kept is said, what is paid for is awaited."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bigcodeflow.generation.answer_ledger import AnswerLedger
from tests.generation.in_process import held
from tests.generation.providers.double import LIMIT_SECONDS, Completion, ModelServer, model_server, wait_for

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
    assert "8 of 8 came and are kept" in printed
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
