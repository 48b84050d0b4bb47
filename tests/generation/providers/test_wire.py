"""What is sent, field by field, as the servers receive it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bigcodeflow.generation.model_api import Message, Prompt, Request, Sampling
from bigcodeflow.generation.providers import Endpoint, open_provider
from tests.generation.providers.conftest import KEY, SETTINGS, asked, chat, direct, endpoint, prefill, used
from tests.generation.providers.double import model_server

EVERYTHING = Sampling(
    temperature=0.25,
    top_p=0.75,
    top_k=5,
    max_tokens=4096,
    stop=("\nA", "\nB"),
    frequency_penalty=0.125,
    presence_penalty=0.375,
    reasoning_effort="low",
)
EXTRA: dict[str, dict[str, Any]] = {
    "openai": {"min_p": 0.1, "chat_template_kwargs": {"enable_thinking": False}},
    "openai-responses": {"metadata": {"a": "b"}},
    "azure": {"user": "u"},
    "anthropic": {"metadata": {"user_id": "u"}},
    "google": {"generationConfig": {"topK": 9}, "safetySettings": [{"category": "C", "threshold": "T"}]},
    "mistral": {"safe_prompt": True},
    "ollama": {"options": {"num_ctx": 9000}, "keep_alive": "5m"},
    "huggingface": {"repetition_penalty": 1.1},
}
TURNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Write task_func."}]


def sent(name: str, request: Request, **settings: Any) -> dict[str, Any]:
    """The body that arrives, which is the one that the provider says."""
    with model_server() as server:

        async def use(provider: Any) -> Any:
            await provider.ask(request)
            return provider.body(request)

        body = used(name, endpoint(server, name, **settings), use)
    assert server.last.body == body
    return body


def test_the_body_that_is_stored_is_the_body_that_arrives(name: str):
    """`body` is exactly what the SDK puts on the wire, further fields included."""
    for sampling in (Sampling(max_tokens=9), SETTINGS, EVERYTHING):
        for samples in (1, 3):
            sent(name, chat(sampling=sampling, samples=samples, seed=3, **EXTRA[name]))


def test_turns_of_a_conversation_arrive_in_their_order(name: str):
    """An answer, what is said of it, and the next question: as a further round sends them."""
    turns = (*chat().prompt.messages, Message("assistant", "Mine."), Message("user", "It fails."))
    request = replace(chat(), prompt=Prompt("chat", turns))
    body = json.dumps(sent(name, request), indent=0)
    places = [body.index(text) for text in ("Write task_func.", "Mine.", "It fails.")]
    assert places == sorted(places)
    assert body.count('"assistant"') + body.count('"model",') + body.count('"role": "model"') == 1


def test_what_is_not_given_is_not_sent(name: str):
    body = sent(name, chat(sampling=Sampling()))
    empty = {"options", "generationConfig"}
    turns = {"messages", "system", "contents", "systemInstruction", "instructions", "input"}
    assert set(body) <= {"model", "stream", "store", "tools"} | turns | empty
    assert not body.get("options")
    assert not body.get("generationConfig")


#: The body for `EVERYTHING`, as far as a provider takes it.
BODIES: dict[str, dict[str, Any]] = {
    # At an address of one's own the protocol's old names hold, and top_k goes along.
    "openai": {
        "model": "m-1",
        "messages": TURNS,
        "temperature": 0.25,
        "top_p": 0.75,
        "top_k": 5,
        "max_tokens": 4096,
        "stop": ["\nA", "\nB"],
        "frequency_penalty": 0.125,
        "presence_penalty": 0.375,
        "reasoning_effort": "low",
        "seed": 3,
        "n": 2,
    },
    # Instructions apart, one name of the limit, no copy kept, and a summary of the reasoning asked for.
    "openai-responses": {
        "model": "m-1",
        "instructions": "Be brief.",
        "input": TURNS[1:],
        "temperature": 0.25,
        "top_p": 0.75,
        "max_output_tokens": 4096,
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
    },
    # System prompt apart, and stop_sequences.
    "anthropic": {
        "model": "m-1",
        "messages": TURNS[1:],
        "system": "Be brief.",
        "max_tokens": 4096,
        "temperature": 0.25,
        "top_p": 0.75,
        "top_k": 5,
        "stop_sequences": ["\nA", "\nB"],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low"},
    },
    # Contents in parts, the system prompt apart, and a configuration in Google's names.
    "google": {
        "contents": [{"role": "user", "parts": [{"text": "Write task_func."}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "temperature": 0.25,
            "topP": 0.75,
            "topK": 5,
            "candidateCount": 2,
            "maxOutputTokens": 4096,
            "stopSequences": ["\nA", "\nB"],
            "frequencyPenalty": 0.125,
            "presencePenalty": 0.375,
            "seed": 3,
            "thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"},
        },
    },
    "ollama": {
        "model": "m-1",
        "messages": TURNS,
        "stream": False,
        "tools": [],
        "think": "low",
        "options": {
            "temperature": 0.25,
            "top_p": 0.75,
            "top_k": 5,
            "num_predict": 4096,
            "stop": ["\nA", "\nB"],
            "seed": 3,
            "frequency_penalty": 0.125,
            "presence_penalty": 0.375,
        },
    },
}
# Another name of the seed, and no stream.
BODIES["mistral"] = {
    **{name: value for name, value in BODIES["openai"].items() if name != "seed"},
    "random_seed": 3,
    "stream": False,
}


@pytest.mark.parametrize("dialect", BODIES)
def test_each_parameter_is_sent_under_the_providers_own_name(dialect: str):
    assert sent(dialect, chat(sampling=EVERYTHING, seed=3, samples=2)) == BODIES[dialect]


def test_anthropic_is_asked_with_a_version_that_takes_sampling_parameters():
    with model_server() as server:
        asked(server, "anthropic")
    assert server.last.path == "/anthropic/v1/messages"
    assert server.last.headers["anthropic-version"] == "2023-06-01"


def test_openai_itself_gets_the_new_name_of_the_limit():
    """api.openai.com takes max_completion_tokens for all chat models, and old max_tokens for reasoning ones not."""
    body = open_provider("openai", Endpoint("gpt-5", api_key=KEY)).body(chat())
    assert body["max_completion_tokens"] == 2048
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("name", "sampling", "fields"),
    [
        ("anthropic", Sampling(reasoning_tokens=0), {"thinking": {"type": "disabled"}}),
        ("anthropic", Sampling(reasoning_tokens=2000), {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        (
            "google",
            Sampling(reasoning_tokens=0),
            {"generationConfig": {"thinkingConfig": {"include_thoughts": False, "thinking_budget": 0}}},
        ),
        (
            "google",
            Sampling(reasoning_tokens=512),
            {"generationConfig": {"thinkingConfig": {"include_thoughts": True, "thinking_budget": 512}}},
        ),
        ("ollama", Sampling(reasoning_tokens=0), {"options": {}, "think": False}),
    ],
)
def test_thinking(name: str, sampling: Sampling, fields: dict[str, Any]):
    """A budget, none, or effort; where it is stored, a summary of it is asked for."""
    body = sent(name, chat(sampling=sampling))
    known = {"thinking", "output_config", "generationConfig", "options", "think"}
    assert {field: body[field] for field in body if field in known} == fields


@pytest.mark.parametrize(
    ("name", "begun", "flags"),
    [
        (
            "openai",
            {"content": "Below:\n```python\n"},
            {"continue_final_message": True, "add_generation_prompt": False},
        ),
        ("anthropic", {"content": "Below:\n```python"}, {}),  # refuses white space at the end
        ("mistral", {"content": "Below:\n```python\n", "prefix": True}, {}),  # repeats what it continues
    ],
)
def test_a_begun_answer_is_continued(name: str, begun: dict[str, Any], flags: dict[str, bool]):
    """Each provider takes it in its own form, and the text is the continuation alone."""
    body = sent(name, prefill())
    assert body["messages"][-1] == {"role": "assistant", **begun}
    assert body.items() >= flags.items()
    with model_server() as server:
        assert asked(server, name, prefill()).answers[0].text == "answer 0.0"


@pytest.mark.parametrize(("name", "path"), [("openai", "/openai/v1/completions"), ("ollama", "/ollama/api/generate")])
def test_direct_continues_bare_text(name: str, path: str):
    """Base models get the text alone, without a template."""
    with model_server() as server:
        reply = asked(server, name, direct())
    assert server.last.path == path
    assert server.last.body["prompt"] == "def task_func():\n"
    assert "messages" not in server.last.body
    assert server.last.body.get("raw", True) is True
    assert reply.answers[0].text == "answer 0.0"
