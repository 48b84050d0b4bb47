"""`bigcodeflow generate` and `run --model` as a user meets them, against a model server on loopback."""

import json
import os
import pty
import re
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.cli.estimates import confirm_requests
from bigcodeflow.config import load_config
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.generation.providers import known_providers
from bigcodeflow.pipeline.forms import asked_run
from tests.conftest import Command
from tests.generation.providers.double import Completion, Fail, Received, Send, model_server
from tests.generation.split_answers import solved_by_docstring

STARTER = ("--dataset", "starter", "--ids", "0-2")
#: A server of one's own and the starter set are not the original's, which a hash tells.
FILE = "m--main--bigcodebench-complete--openai-0-1-*-sanitized_calibrated"


def _solution(_: Received) -> Completion:
    return Completion("Here you are:\n```python\ndef task_func(*args):\n    return 1\n```\nEnjoy.")


def test_samples_come_in_the_originals_format(bigcodeflow: Command, tmp_path: Path) -> None:
    """The original's file name; each line with the program and the raw answer; the table beside it."""
    with model_server(_solution) as server:
        asked = ("generate", "--model", "openai:m", "--base-url", server.url("openai"), *STARTER, "--out", "out")
        bigcodeflow(*asked)
        again = bigcodeflow(*asked)
        assert len(server.requests) == 3
    [file] = (tmp_path / "out").glob(f"{FILE}.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["task_id"] for line in lines] == ["Starter/0", "Starter/1", "Starter/2"]
    assert all(line["solution"].startswith("def task_func") for line in lines)
    assert all(line["raw_solution"].startswith("Here you are") for line in lines)
    assert pq.read_schema(file.with_suffix(".samples.parquet")).equals(SAMPLES)
    assert again.stderr.count("from cache") == 3


def test_a_run_goes_from_the_model_to_the_score(
    bigcodeflow: Command, tmp_path: Path, starter_environment: object
) -> None:
    """One command asks for its split, although answers to the other are known; the files carry the model's name."""
    with model_server(solved_by_docstring) as server:
        address = ("--model", "openai:m", "--base-url", server.url("openai"))
        bigcodeflow("generate", *address, "--dataset", "starter", "--ids", "0-1")
        chosen = ("--set", "dataset.ids=0-1", "--set", "dataset.split=instruct", "--set", "out=out")
        done = bigcodeflow("run", "starter", "--no-prefect", *address, *chosen)
        assert len(server.requests) == 4
    assert "2 samples of 2 tasks" in " ".join(done.stdout.split())
    [file] = (tmp_path / "out").glob(f"{FILE.replace('complete', 'instruct')}_pass_at_k.json")
    score = json.loads(file.read_text())
    assert (score["model"], score["pass@1"]) == ("m--main", 0.0)


def test_very_many_requests_are_asked_about_at_a_terminal(tmp_path: Path) -> None:
    """With the estimate; no ends the command before the first request."""
    words = ("-m", "bigcodeflow", "generate", "--model", "openai:m", "--dataset", "starter", "--n-samples", "100000")
    process, terminal = pty.fork()
    if not process:
        os.chdir(tmp_path)
        os.execv(sys.executable, (sys.executable, *words))
    said = b""
    with suppress(OSError):  # its end, as Linux tells it
        while part := os.read(terminal, 4096):
            said += part
            if b"[y/N]" in part:
                os.write(terminal, b"n\n")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 1
    assert b"Send 4,500,000 requests?" in said
    assert b"Aborted" in said


@pytest.mark.parametrize("start", [("run", "starter"), ("sweep", "huge.yaml"), ("generate", "--dataset", "starter")])
def test_without_a_terminal_very_many_requests_need_a_yes(
    start: tuple[str, ...], bigcodeflow: Command, tmp_path: Path
) -> None:
    """The estimate is printed, and the error names the option; with it, nothing is asked."""
    (tmp_path / "huge.yaml").write_text("models: [{model: 'openai:m'}]\ncommon: {generation.n_samples: 100000}\n")
    model = () if start[0] == "sweep" else ("--model", "openai:m", "--n-samples", "100000")
    done = bigcodeflow(*start, *model, "--ids", "0", check=False)
    assert done.returncode == 1
    assert "100,000" in done.stdout
    assert "100,000 requests, and no terminal to confirm them at: pass --yes" in done.stderr
    config = load_config("starter", options={"generation.model": "openai:m", "generation.n_samples": 100_000})
    confirm_requests([config], yes=True)


def test_a_server_lists_its_models_where_none_is_named(bigcodeflow: Command) -> None:
    """Also where the provider or the name is missing; recorded answers are never judged in their place."""
    with model_server(lambda _: Send({"data": [{"id": "small"}, {"id": "large"}]})) as server:
        address = ("--base-url", server.url("openai"))
        for words in (("generate", *STARTER), ("run", "starter"), ("run", "starter", "--model", "openai:")):
            done = bigcodeflow(*words, *address, check=False)
            assert done.returncode == 1
            assert "PROVIDER:NAME" in done.stderr
            assert re.search("The server has (small, large|large, small)", done.stderr)
        with pytest.raises(ConfigError, match=r"model: is empty: .*The server has"):
            asked_run(model="", base_url=server.url("openai"))
        with pytest.raises(ConfigError, match=r"model: is 'small': .*The server has"):
            asked_run(model="small", base_url=server.url("openai"))


@pytest.mark.slow
def test_another_setting_is_another_file(bigcodeflow: Command, tmp_path: Path) -> None:
    """Longer answers, and fewer tasks, stand beside the first file; a grid has a folder a setting."""
    with model_server(_solution) as server:
        asked = ("generate", "--model", "openai:m", "--base-url", server.url("openai"), *STARTER)
        for more in ((), ("--max-tokens", "2048"), ("--ids", "0")):
            bigcodeflow(*asked, "--out", "out", *more)
        bigcodeflow(*asked, "--out", "grid", "--temperature", "0.2,0.8")
        assert [received.body["temperature"] for received in server.requests].count(0.8) == 3
    counts = [len(path.read_text().splitlines()) for path in (tmp_path / "out").glob(f"{FILE}.jsonl")]
    assert sorted(counts) == [1, 3, 3]
    assert sorted(path.name for path in (tmp_path / "grid").iterdir()) == ["t0.2", "t0.8"]


#: Providers that differ: with known prices, at the user's own address, without a key.
_DIFFERENT = ("openai", "azure", "vllm-server")


@pytest.mark.parametrize(
    "provider",
    [
        pytest.param(name, marks=() if name in _DIFFERENT else pytest.mark.slow)
        for name, info in known_providers().items()
        if name not in ("vllm", "transformers")  # a worker counts only with its engine
    ],
)
def test_every_provider_can_be_shown_and_counted_without_a_key(
    bigcodeflow: Command, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """The prompt is the request itself, the count has a line a setting.

    What stands in for the key passes the check of the provider's keys, such as the hub's hf_.
    """
    for variable in known_providers()[provider].key_variables:
        monkeypatch.delenv(variable, raising=False)
    name = "gpt-4o" if provider == "openai" else "m"
    address = ("--base-url", "https://mine.openai.azure.com") if known_providers()[provider].own_address else ()
    asked = ("generate", "--model", f"{provider}:{name}", *address)
    shown = bigcodeflow(*asked, *STARTER[:2], "--show-prompt", "1")
    assert "Please provide a self-contained Python script" in shown.stdout
    counted = bigcodeflow(*asked, *STARTER, "--dry-run", "--temperature", "0,1")
    assert counted.stdout.count("run+t") == 2
    assert ("needs a key: set the environment variable" in counted.stderr) is known_providers()[provider].needs_key
    if provider == "openai":
        assert json.loads(shown.stdout[shown.stdout.index("{\n") :])["model"] == name
        assert "$0.0" in counted.stdout
        assert "prices of 2026-" in counted.stderr


def test_mistakes_end_in_one_line(bigcodeflow: Command) -> None:
    """A missing key, an unknown provider, a wrong number and a server that refuses: what, where, what to do."""
    with model_server(lambda _: Fail(404, "no such model")) as server:
        for arguments, message in (
            (("openai:gpt-4o",), "OPENAI_API_KEY"),
            (("opnai:gpt-4o",), "did you mean openai"),
            (("gpt-4o",), "PROVIDER:NAME"),
            (("openai:m", "--temperature", "hot"), "--temperature 'hot'"),
            (("openai:m", "--base-url", server.url("openai")), "no such model"),
        ):
            done = bigcodeflow("generate", "--model", *arguments, *STARTER, check=False, OPENAI_API_KEY="")
            assert done.returncode == 1
            assert message in done.stderr
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "splits", [("complete", "instruct"), pytest.param(("instruct", "complete"), marks=pytest.mark.slow)]
)
def test_each_split_is_asked_and_written_by_itself(
    splits: tuple[str, str], bigcodeflow: Command, tmp_path: Path
) -> None:
    """In one store, in either order: the second split is asked for all its answers, and each is then known."""
    with model_server(solved_by_docstring) as server:
        address = ("--model", "openai:m", "--base-url", server.url("openai"), "--out", "out")
        for asked, split in zip((3, 6, 6, 6), (*splits, *splits), strict=True):
            bigcodeflow("generate", *address, *STARTER, "--split", split)
            assert len(server.requests) == asked
    complete, instruct = (
        next((tmp_path / "out").glob(f"{FILE.replace('complete', split)}.jsonl")).read_text()
        for split in ("complete", "instruct")
    )
    assert "return 'no'" in instruct
    assert "return 'no'" not in complete


def test_rounds_are_refused_where_nothing_is_executed(bigcodeflow: Command) -> None:
    """Without verdicts nobody knows which samples to ask for again: one line says where they are."""
    refused = bigcodeflow("generate", "--model", "openai:m", "--set", "generation.rounds=3", check=False)
    assert refused.returncode != 0
    assert "generation.rounds 3: further rounds need verdicts" in refused.stderr
    assert "Traceback" not in refused.stderr
