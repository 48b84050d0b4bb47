"""Real vLLM and real transformers with a tiny model: what they answer, count and refuse, here and as a server."""

import asyncio
import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import GenerationConfig, OfflineConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, GenerationError
from bigcodeflow.generation.model_api import Message, Prompt, Reply, Request, RequestError, Sampling
from bigcodeflow.generation.providers import Endpoint, open_provider
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow_engines.offline import WorkerEngine
from bigcodeflow_engines.vllm_server import VllmServerEngine
from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ENGINES = ("transformers", "vllm")
TOKENS = 32
CONTEXT_TOKENS = 2048  # of the tiny model
_PREFILL = "Below is a program:\n```python"


def _environment(engine: str) -> InstalledEnvironment:
    try:
        return find_environment(f"{engine}-cpu", "engine")
    except EnvironmentUnusableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    _environment(request.param)
    return request.param


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, an adapter, the model without a chat template, and the model with broken weights."""
    folder = tmp_path_factory.mktemp("tiny")
    program = [_environment("transformers").python, Path(__file__).with_name("tiny_model.py")]
    subprocess.run([*program, folder / "model", folder / "adapter"], check=True, capture_output=True)
    for name, file, content in (("mute", "chat_template.jinja", None), ("broken", "model.safetensors", b"123")):
        shutil.copytree(folder / "model", folder / name)
        (folder / name / file).unlink()
        if content:
            (folder / name / file).write_bytes(content)
    return folder


def _prompts() -> dict[str, Prompt]:
    """Real tasks in each form, and a prefill whose last line break the tiny model's template takes away."""
    lines = (ROOT / "data" / "starter" / "tasks.jsonl").read_text().splitlines()[:3]
    texts = [json.loads(line)["complete_prompt"][:600] for line in lines]
    asked = Message("user", texts[0])
    return {
        "chat": Prompt("chat", (asked,)),
        "prefill": Prompt("prefill", (Message("user", texts[1]), Message("assistant", _PREFILL))),
        "direct": Prompt("direct", text=texts[2]),
        "fence": Prompt("prefill", (Message("user", texts[1]), Message("assistant", f"{_PREFILL}\n"))),
    }


GREEDY = Sampling(temperature=0.0, max_tokens=TOKENS)
SAMPLED = Sampling(temperature=1.0, top_p=0.95, top_k=100, max_tokens=TOKENS)


def _requests() -> list[Request]:
    prompts = _prompts()
    return [
        *(Request(f"greedy {form}", (0,), prompt, GREEDY) for form, prompt in prompts.items()),
        Request("three samples", (0, 1, 2), prompts["chat"], SAMPLED, seed=10),
        Request("the second alone", (1,), prompts["chat"], SAMPLED, seed=11),
        Request("to the end", (0,), prompts["direct"], Sampling(temperature=0.9, stop=("\n",)), seed=4),
        Request("too long", (0,), Prompt("direct", text="x = 1\n" * CONTEXT_TOKENS), GREEDY),
    ]


async def _asked(server: Endpoint, name: str) -> Reply:
    async with contextlib.aclosing(open_provider("openai", server)) as provider:
        return await provider.ask(next(request for request in _requests() if request.task_id == name))


class Outcome:
    """What one run brought."""

    def __init__(self, engine: str, model: Path, requests: Sequence[Request], **settings: object) -> None:
        config = GenerationConfig(model=f"{engine}:{model}", offline=OfflineConfig(**{"dtype": "float32"} | settings))
        self.replies: dict[str, Reply] = {}
        self.rejected: dict[str, RequestError] = {}
        for request, outcome, _ in WorkerEngine(_environment(engine)).answers(config, requests):
            kept: dict[str, object] = self.rejected if isinstance(outcome, RequestError) else self.replies
            kept[request.task_id] = outcome

    def texts(self, name: str) -> list[str]:
        return [_whole(answer.text) for answer in self.replies[name].answers]

    def greedy(self) -> dict[str, tuple[list[str], int | None, int | None]]:
        return {
            name: (self.texts(name), reply.usage.prompt_tokens, reply.usage.completion_tokens)
            for name, reply in self.replies.items()
            if name.startswith("greedy")
        }


def _whole(text: str) -> str:
    """Without half a character at the end, which one engine shows and the other holds back."""
    return text.rstrip("\ufffd")


@pytest.fixture(scope="module")
def outcomes(tiny: Path) -> dict[str, Outcome]:
    """One run of every engine that is built here."""
    found = {}
    for name in ENGINES:
        with contextlib.suppress(pytest.skip.Exception):
            found[name] = Outcome(name, tiny / "model", _requests())
    return found


def test_every_request_is_answered_or_rejected(engine: str, outcomes: dict[str, Outcome]) -> None:
    """As many answers as samples, tokens counted, and a prompt that is too long is rejected with its length."""
    outcome = outcomes[engine]
    assert {name: len(reply.answers) for name, reply in outcome.replies.items()} == {
        request.task_id: len(request.sample_indices) for request in _requests() if request.task_id != "too long"
    }
    assert "the prompt has 10,240 tokens; the model takes 2,047" in str(outcome.rejected["too long"])
    for form in ("chat", "prefill", "direct"):
        reply = outcome.replies[f"greedy {form}"]
        assert reply.answers[0].finish_reason == "length"
        assert reply.usage.completion_tokens == TOKENS
        assert reply.usage.prompt_tokens > 100


def test_a_fence_that_was_opened_keeps_its_line_break(engine: str, outcomes: dict[str, Outcome]) -> None:
    """A template that trims turns would leave the model on the fence's own line, where no program begins."""
    replies = outcomes[engine].replies
    without, whole = replies["greedy prefill"].usage, replies["greedy fence"].usage
    assert whole.prompt_tokens == without.prompt_tokens + 1


def test_a_stop_text_ends_an_answer_and_is_no_part_of_it(engine: str, outcomes: dict[str, Outcome]) -> None:
    """Without a limit of its own an answer also ends where the context does."""
    reply = outcomes[engine].replies["to the end"]
    assert reply.answers[0].finish_reason == "stop"
    assert "\n" not in reply.answers[0].text
    assert 0 < reply.usage.completion_tokens < CONTEXT_TOKENS


def test_a_seed_is_a_sample(engine: str, outcomes: dict[str, Outcome], tiny: Path) -> None:
    """The samples of one request differ; each is the same alone, and in other company."""
    outcome = outcomes[engine]
    texts = outcome.texts("three samples")
    assert len(set(texts)) == 3
    assert outcome.texts("the second alone") == [texts[1]]
    again = Outcome(engine, tiny / "model", list(reversed(_requests()[:6])), batch_size=2)
    assert again.texts("three samples") == texts
    assert again.greedy() == outcome.greedy()


def test_both_engines_say_and_count_the_same(outcomes: dict[str, Outcome]) -> None:
    """Greedy answers in full precision: prompts, templates, prefill and counting are the same thing in both."""
    if len(outcomes) < len(ENGINES):
        pytest.skip("one of the engine environments is not built")
    assert outcomes["vllm"].greedy() == outcomes["transformers"].greedy()


def test_an_adapter_changes_the_answers(engine: str, outcomes: dict[str, Outcome], tiny: Path) -> None:
    """LoRA weights are applied, and are no part of the next run without them."""
    adapted = Outcome(engine, tiny / "model", _requests()[:1], lora=str(tiny / "adapter"))
    assert adapted.texts("greedy chat") != outcomes[engine].texts("greedy chat")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mute", {}, r"no chat template — set generation\.prompt\.form to direct"),
        ("broken", {}, "header too small"),
        ("nobody/nothing", {}, r"neither a folder here nor in the hub's cache.*hf download"),
        ("model", {"dtype": "floaty"}, r"— correct .*generation\.offline"),
        ("model", {"max_model_tokens": 10**6}, r"— correct .*generation\.offline"),
    ],
)
def test_what_cannot_be_loaded_is_one_clear_line(
    engine: str, tiny: Path, name: str, settings: dict[str, object], message: str
) -> None:
    model = tiny / name if (tiny / name).is_dir() else Path(name)
    with pytest.raises(GenerationError, match=message) as raised:
        Outcome(engine, model, _requests()[:1], **settings)
    assert len(str(raised.value)) < 600
    assert "\n" not in str(raised.value)


def test_unknown_parameters_are_no_secret(engine: str, tiny: Path) -> None:
    request = Request("odd", (0,), _prompts()["chat"], GREEDY, extra_body={"no_such_parameter": 1})
    with pytest.raises(GenerationError, match="no_such_parameter"):
        Outcome(engine, tiny / "model", [request])


def test_a_chat_template_is_seen(engine: str, tiny: Path) -> None:
    for name, talks in (("model", True), ("mute", False)):
        config = GenerationConfig(model=f"{engine}:{tiny / name}")
        assert WorkerEngine(_environment(engine)).has_chat_template(config) is talks


@pytest.mark.long
def test_a_killed_engine_costs_what_was_in_flight(engine: str, tiny: Path) -> None:
    """kill -9 amid the answers: those that came are there, and a second call for the rest ends with all of them."""
    lengths = (4, 600, 800, 1000)
    requests = [
        Request(f"{tokens} tokens", (0,), _prompts()["direct"], Sampling(temperature=1.0, max_tokens=tokens), seed=1)
        for tokens in lengths
    ]
    config = GenerationConfig(model=f"{engine}:{tiny / 'model'}", offline=OfflineConfig(batch_size=1))
    kept: list[str] = []

    def ask(wanted: Sequence[Request]) -> None:
        for request, _, _ in WorkerEngine(_environment(engine)).answers(config, wanted):
            kept.append(request.task_id)
            if len(kept) == 1:
                children = psutil.Process().children()
                next(child for child in children if f"{engine}_worker.py" in str(child.cmdline())).kill()

    with pytest.raises(GenerationError, match=r"killed by SIGKILL.* have no answer yet"):
        ask(requests)
    assert 1 <= len(kept) < len(requests)
    ask([request for request in requests if request.task_id not in kept])
    assert sorted(kept) == sorted(request.task_id for request in requests)


@pytest.fixture(scope="module")
def server(tiny: Path) -> Iterator[Endpoint]:
    """A vLLM server of a run's with the tiny model."""
    _environment("vllm")
    config = GenerationConfig(model=f"vllm-server:{tiny / 'model'}", offline=OfflineConfig(dtype="float32"))
    with VllmServerEngine().served(config, tiny, lambda _: None) as opened:
        yield opened().endpoint


def test_the_server_says_and_counts_the_same(server: Endpoint, outcomes: dict[str, Outcome]) -> None:
    """Through the OpenAI provider, chat, prefill and direct bring the offline run's answers and token counts."""
    found = {}
    for name in ("greedy chat", "greedy prefill", "greedy direct"):
        reply = asyncio.run(_asked(server, name))
        text = _whole(reply.answers[0].text).replace("\t", "    ")
        found[name] = ([text], reply.usage.prompt_tokens, reply.usage.completion_tokens)
    expected = outcomes["vllm"].greedy()
    assert found == {name: expected[name] for name in found}


def test_the_server_gives_several_answers_at_once(server: Endpoint) -> None:
    reply = asyncio.run(_asked(server, "three samples"))
    assert len({answer.text for answer in reply.answers}) == 3
    assert reply.usage.completion_tokens is not None


@pytest.mark.parametrize(("model", "kind"), [("other", "not_found"), ("", "bad_request")])
def test_the_servers_errors_are_sorted(server: Endpoint, model: str, kind: str) -> None:
    with pytest.raises(RequestError) as raised:
        asyncio.run(_asked(replace(server, model=model or server.model), "too long"))
    assert raised.value.kind == kind
