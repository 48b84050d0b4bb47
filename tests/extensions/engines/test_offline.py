"""The driver of offline engines, with a worker that has no model: every answer once, no process left, clear errors."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

import psutil
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bigcodeflow.config import GenerationConfig, OfflineConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, GenerationError
from bigcodeflow.generation.model_api import Message, Prompt, Reply, Request, RequestError, Sampling
from bigcodeflow.judge.environments import InstalledEnvironment, environment_folder, load_definition
from bigcodeflow_engines import offline
from tests.conftest import ROOT
from tests.generation.providers.double import gone

DOUBLE = Path(__file__).parent / "offline_worker.py"
GONE_SECONDS = 120.0


def _environment(python: str = sys.executable) -> InstalledEnvironment:
    variables = {"FROM_THE_ENVIRONMENT": "1", "VLLM_SET_BY_BOTH": "definition"}
    return InstalledEnvironment("double", Path("/nowhere"), Path(python), (), variables, "sha", ())


def _config(model: str = "vllm:some/model", **changes: object) -> GenerationConfig:
    return GenerationConfig(model=model, offline=OfflineConfig(**changes))


def _request(text: str, *indices: int, seed: int | None = None, **sampling: object) -> Request:
    return Request(text, indices or (0,), Prompt("direct", text=text), Sampling(**sampling), seed)


def _engine(**options: object) -> offline.WorkerEngine:
    return offline.WorkerEngine(**{"environment": _environment(), "worker": DOUBLE} | options)


class Kept:
    """What the driver handed on."""

    def __init__(self) -> None:
        self.replies: list[tuple[Request, Reply, float]] = []
        self.rejected: list[tuple[Request, RequestError]] = []

    @property
    def texts(self) -> dict[str, list[str]]:
        return {request.task_id: [answer.text for answer in reply.answers] for request, reply, _ in self.replies}

    def ask(self, *requests: Request, config: GenerationConfig | None = None, **options: object) -> "Kept":
        for request, outcome, seconds in _engine(**options).answers(config or _config(), requests):
            if isinstance(outcome, RequestError):
                self.rejected.append((request, outcome))
            else:
                self.replies.append((request, outcome, seconds))
        return self


def test_every_request_is_answered_once() -> None:
    """A reply has its request's samples, token counts of both kinds, seconds and the model with its commit.

    What an engine prints is no message; tabs become four spaces as in the original, whose scores were measured so.
    """
    kept = Kept().ask(
        _request("print if x:\n\treturn\t1"), _request("say two", 4, 5, seed=10), _request("reject too long")
    )
    assert list(kept.texts.values()) == [["if x:\n    return    1"], ["two 10", "two 11"]]
    _, reply, seconds = kept.replies[1]
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, seconds) == (7, 6, 0.5)
    assert reply.served_model == "some/model@c0ffee"
    assert [(request.task_id, str(error), error.worth_another_try) for request, error in kept.rejected] == [
        ("reject too long", "too long", False)
    ]


def test_no_request_starts_no_worker() -> None:
    """Where nothing is missing, not even a broken environment is noticed."""
    assert Kept().ask(environment=_environment("/nowhere/python")).replies == []


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\t")), max_size=30))
@example(["", "\x00", "a\r\n\u2028b", "half a pair: \ud83d"])
def test_any_text_travels_unchanged(texts: list[str]) -> None:
    """Line breaks of all alphabets, NUL and half surrogate pairs included."""
    kept = Kept().ask(*(_request(f"say {text}") for text in texts))
    assert [reply.answers[0].text for _, reply, _ in kept.replies] == texts


def test_what_is_stored_of_a_request_is_what_the_worker_reads() -> None:
    """The stored body is JSON and has prompt, sampling, further parameters and the seed of each sample."""
    prompt = Prompt("chat", (Message("user", "Solve it."),))
    request = Request("t", (2, 3), prompt, Sampling(0.5, stop=("\n",)), 9, {"min_p": 0.1})
    assert json.loads(json.dumps(_engine().body(request))) == {
        "form": "chat",
        "messages": [{"role": "user", "text": "Solve it."}],
        "text": "",
        "sampling": {"temperature": 0.5, "stop": ["\n"]},
        "extra": {"min_p": 0.1},
        "seeds": [9, 10],
    }


def test_a_killed_worker_costs_what_was_in_flight_only() -> None:
    """The error says how it ended and what is missing; a second call for that ends in the undisturbed result."""
    requests = [_request(f"say {number}") for number in range(20)]
    kept = Kept()
    with pytest.raises(
        GenerationError, match=r"killed by SIGKILL.*last line: about to die; 11 requests have no answer"
    ):
        kept.ask(*requests[:10], _request("die"), *requests[10:])
    assert len(kept.replies) == 10
    kept.ask(*(request for request in requests if request.task_id not in kept.texts))
    assert kept.texts == Kept().ask(*requests).texts
    assert len(kept.replies) == 20


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("tear", r"ended with status 3.*1 requests have no answer"),
        ("raise too much", r"MemoryError: too much.*batch_size"),  # as where it runs out at loading
        ("twice two", "answered request 1 twice"),
        ("too_few", "0 answers for 1 samples of too_few"),
        ("forget", "ended with status 0; .*1 requests have no answer"),
    ],
)
def test_a_fault_of_a_worker_keeps_what_came_before(order: str, message: str) -> None:
    """Half an answer counts for nothing, and a worker that miscounts is stopped."""
    kept = Kept()
    with pytest.raises(GenerationError, match=message):
        kept.ask(_request("say one"), _request(order))
    assert kept.texts.pop("say one") == ["one"]
    assert kept.texts.keys() <= {"say one", "twice two"}


def test_a_child_that_outlives_the_worker_holds_nothing_up() -> None:
    """A forked process keeps the channel open; the driver still sees the death at once, and ends that process too."""
    kept = Kept()
    with pytest.raises(GenerationError, match="SIGKILL"):
        kept.ask(_request("fork"), _request("die"))
    assert gone(int(kept.texts["fork"][0]))


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("OutOfMemoryError:CUDA out of memory. Tried to allocate 2 GiB", "lower generation.offline.batch_size"),
        ("ValueError:No available memory for the cache blocks", "lower generation.offline.batch_size"),
        ("GatedRepoError:Access is restricted", "HF_TOKEN"),
        ("ValueError:Please pass the argument `trust_remote_code=True`", "if you trust the authors"),
        ("RepositoryNotFoundError:404", "hf download"),
        ("ModuleNotFoundError:No module named 'vllm'", "bigcodeflow env build double --rebuild"),
        ("SafetensorError:header\n too small", "SafetensorError: header too small"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_what_to_do(
    error: str, remedy: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One line with the model, the engine's own words where they help, and the remedy; all it printed is logged."""
    caplog.set_level(logging.DEBUG)
    config = _config(f"vllm:broken:{error}")
    with pytest.raises(GenerationError, match=remedy) as raised:
        Kept().ask(_request("say one"), config=config)
    assert "\n" not in str(raised.value).removeprefix(config.model)
    assert "Traceback" not in str(raised.value)
    assert f"loading broken:{error.partition(':')[0]}" in caplog.text


@pytest.mark.parametrize("provider", ["vllm", "transformers"])
def test_an_environment_without_the_engine_is_reported(provider: str) -> None:
    real = {"worker": None, "config": _config(f"{provider}:some/model")}
    with pytest.raises(GenerationError, match=r"No module named .* env build double --rebuild"):
        Kept().ask(_request("say one"), **real)
    with pytest.raises(GenerationError, match=r"/nowhere/python cannot be started.* env build double --rebuild"):
        Kept().ask(_request("say one"), environment=_environment("/nowhere/python"), **real)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (_config("vllm:./nothing"), "generation.model: ./nothing is no folder"),
        (_config(lora="~/nothing"), "generation.offline.lora: ~/nothing is no folder"),
    ],
)
def test_settings_that_cannot_work_are_reported_before_anything_starts(config: GenerationConfig, message: str) -> None:
    with pytest.raises(GenerationError, match=message):
        Kept().ask(_request("say one"), config=config)


def test_parameters_that_an_engine_does_not_take_are_refused() -> None:
    asked = _request("", frequency_penalty=0.5, reasoning_effort="low")
    assert len(_engine().problems(_config("vllm:m"), asked)) == 1
    found = _engine().problems(_config("transformers:m"), asked)
    assert all("transformers has no such parameter here" in line for line in found)
    assert {line.partition(":")[0].rpartition(".")[2] for line in found} == {"frequency_penalty", "reasoning_effort"}


def test_whether_a_model_can_talk_is_asked_of_its_tokenizer() -> None:
    for model, talks in (("vllm:it-talks", True), ("vllm:mute", False)):
        assert _engine().has_chat_template(_config(model)) is talks
    with pytest.raises(GenerationError, match="cannot be started"):
        _engine(environment=_environment("/nowhere/python")).has_chat_template(_config())


def test_a_worker_gets_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys stay here, but for the hub's where a download is allowed; engine settings go through, the user's first."""
    for name in ("OPENAI_API_KEY", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "PYTHONPATH", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("VLLM_SET_BY_BOTH", "user")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    seen = eval(Kept().ask(_request("tell env")).texts["tell env"][0])
    assert not {"OPENAI_API_KEY", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "PYTHONPATH"} & seen.keys()
    assert (seen["HF_HUB_OFFLINE"], seen["PYTHONNOUSERSITE"]) == ("1", "1")
    assert (seen["FROM_THE_ENVIRONMENT"], seen["VLLM_SET_BY_BOTH"], seen["CUDA_VISIBLE_DEVICES"]) == ("1", "user", "3")
    seen = eval(Kept().ask(_request("tell env"), config=_config(download=True)).texts["tell env"][0])
    assert (seen["HF_TOKEN"], seen["HF_HUB_OFFLINE"]) == ("0", "0")


_DRIVER = """
import signal
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where a shell put the tests into the background
from tests.extensions.engines.test_offline import _config, _engine, _request
requests = [_request("tell pid"), _request("fork"), _request("wait")]
for _, reply, _ in _engine().answers(_config(), requests):
    print(reply.answers[0].text, flush=True)
"""


@pytest.fixture
def driver() -> Iterator["subprocess.Popen[str]"]:
    """A process that drives a worker which waits for good, in a session of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", _DRIVER, ROOT], start_new_session=True, **pipes)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, *(pytest.param(how, marks=pytest.mark.slow) for how in (signal.SIGINT, signal.SIGTERM))]
)
def test_no_process_outlives_the_driver(driver: "subprocess.Popen[str]", how: signal.Signals) -> None:
    """However the driver ends, the worker and what it forked are gone: a model left behind would hold a GPU."""
    started = [int(driver.stdout.readline()) for _ in range(2)]
    assert all(psutil.pid_exists(pid) for pid in started)
    deadline = time.monotonic() + GONE_SECONDS
    # Again, as people press Ctrl-C: the interpreter drops a KeyboardInterrupt that comes while it runs a finalizer.
    while driver.poll() is None and time.monotonic() < deadline:
        os.kill(driver.pid, how)
        with suppress(subprocess.TimeoutExpired):
            driver.wait(2)
    assert driver.returncode is not None
    assert gone(*started)


def test_an_error_of_the_ledger_ends_the_worker() -> None:
    """Where answers are no longer taken, for example because a disk is full, nothing goes on computing."""
    requests = [_request("tell pid"), _request("fork"), _request("wait")]
    with closing(_engine().answers(_config(), requests)) as outcomes:
        started = [int(reply.answers[0].text) for _, reply, _ in islice(outcomes, 2)]
        assert all(psutil.pid_exists(pid) for pid in started)
    assert gone(*started)


@pytest.fixture
def pretend_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts down what a finished build of an environment looks like."""
    monkeypatch.setenv("BIGCODEFLOW_ENVIRONMENTS", str(tmp_path))

    def pretend(name: str) -> None:
        root = environment_folder(load_definition(name))
        (root / "venv" / "bin").mkdir(parents=True)
        (root / "venv" / "bin" / "python").touch()
        content = {"name": name, "base_prefix": "/", "variables": {}, "environment_sha": "", "missing_data": []}
        (root / "environment.json").write_text(json.dumps(content))

    return pretend


def test_the_built_environment_of_a_provider_is_taken(pretend_built: Callable[[str], None]) -> None:
    """Named, else the one for GPUs, else the one for the CPU; a sandbox environment never."""
    with pytest.raises(EnvironmentUnusableError, match=r"env build vllm` where there are GPUs, .*env build vllm-cpu`"):
        offline.engine_environment(_config())
    pretend_built("vllm-cpu")
    assert offline.engine_environment(_config()).name == "vllm-cpu"
    pretend_built("vllm")
    assert offline.engine_environment(_config()).name == "vllm"
    assert offline.engine_environment(_config(environment="vllm-cpu")).name == "vllm-cpu"
    with pytest.raises(EnvironmentUnusableError, match=r"'starter' is no engine .*: choose one of transformers"):
        offline.engine_environment(_config(environment="starter"))
