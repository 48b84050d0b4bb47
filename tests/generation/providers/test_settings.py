"""Settings that a provider does not take are reported before anything is sent; none is dropped without a word."""

import functools
from dataclasses import replace
from typing import Any

import pytest

from bigcodeflow.generation.model_api import Prompt, PromptForm, Request, Sampling
from bigcodeflow.generation.providers import Endpoint, Provider, open_provider
from tests.generation.providers.conftest import chat

GREEDY = Sampling(temperature=0.0, max_tokens=1280)
OWN_SERVER = "http://127.0.0.1:9/v1"


@functools.cache
def opened(name: str, model: str, base_url: str = "") -> Provider:
    own = "https://mine.openai.azure.com" if name == "azure" else ""
    return open_provider(name, Endpoint(model, base_url or own, "hf_k"))


def problems(
    name: str, model: str, sampling: Sampling = GREEDY, form: PromptForm = "chat", base_url: str = ""
) -> list[str]:
    return opened(name, model, base_url).problems(Request("", (0,), Prompt(form), sampling))


USUAL = [
    ("openai", "gpt-4o"),
    ("openai-responses", "gpt-4o"),
    ("azure", "my-deployment"),
    ("anthropic", "claude-sonnet-4-6"),
    ("anthropic", "claude-3-5-haiku-20241022"),
    ("google", "gemini-2.5-flash"),
    ("mistral", "mistral-large-2411"),
    ("ollama", "qwen2.5-coder"),
    ("huggingface", "Qwen/Qwen2.5-Coder-7B-Instruct"),
]


@pytest.mark.parametrize(
    ("name", "model", "sampling"),
    [
        *((name, model, GREEDY) for name, model in USUAL),
        ("openai", "gpt-5.2", GREEDY),
        ("openai", "gpt-6.1-sol", replace(GREEDY, reasoning_effort="none")),
        ("azure", "my-o3", Sampling(max_tokens=9000, reasoning_effort="high")),
        ("openai", "gpt-5-chat-latest", GREEDY),
        ("openai", "o3", Sampling(max_tokens=9000, reasoning_effort="high")),
        ("anthropic", "claude-opus-4-7", Sampling(max_tokens=9000, reasoning_effort="xhigh")),
        ("anthropic", "claude-sonnet-4-6", Sampling(max_tokens=9000, reasoning_effort="low", temperature=1)),
        ("anthropic", "claude-opus-4-20250514", Sampling(max_tokens=9000, reasoning_tokens=1024)),
        ("anthropic", "claude-3-5-sonnet-20241022", replace(GREEDY, temperature=0.8, top_p=0.95)),
        ("google", "gemini-3-pro", Sampling(reasoning_effort="low")),
    ],
)
def test_what_a_model_takes_is_no_problem(name: str, model: str, sampling: Sampling):
    assert problems(name, model, sampling) == []


MODELS = dict(reversed(USUAL))
DISTINCT: dict[str, Any] = {
    "temperature": 0.123,
    "top_p": 0.456,
    "top_k": 78,
    "max_tokens": 9012,
    "stop": ("\nSTOP",),
    "frequency_penalty": 0.345,
    "presence_penalty": 0.678,
    "reasoning_effort": "medium",
    "reasoning_tokens": 3456,
}


@pytest.mark.parametrize("parameter", [*DISTINCT, "seed"])
@pytest.mark.parametrize("base_url", ["", OWN_SERVER], ids=["official", "own"])
def test_each_parameter_is_sent_or_a_problem(name: str, parameter: str, base_url: str):
    """For every provider and parameter: its value stands in the body, or a line says why it cannot."""
    seed = 777 if parameter == "seed" else None
    value = DISTINCT.get(parameter, seed)
    sampling = (
        Sampling(max_tokens=9000) if parameter == "seed" else replace(Sampling(max_tokens=9000), **{parameter: value})
    )
    provider = opened(name, MODELS[name], base_url)
    request = chat(sampling=sampling, seed=seed)
    lines, body = provider.problems(request), str(provider.body(request))
    sent = (repr(value[0]) if parameter == "stop" else str(value)).lower() in body.lower()
    assert sent or any(f"sampling.{parameter}:" in line for line in lines), (body, lines)


@pytest.mark.parametrize("form", ["chat", "prefill", "direct"])
@pytest.mark.parametrize(
    ("name", "model", "base_url", "taken"),
    [
        ("openai", "gpt-4o", "", {"chat"}),
        ("openai", "gpt-3.5-turbo-instruct", "", {"direct"}),
        ("openai", "qwen", OWN_SERVER, {"chat", "prefill", "direct"}),
        ("anthropic", "claude-sonnet-4-5", "", {"chat", "prefill"}),
        ("anthropic", "claude-opus-4-6", "", {"chat"}),
        ("anthropic", "claude-mythos-5-2", "", {"chat"}),
        ("google", "gemini-2.5-pro", "", {"chat"}),
        ("mistral", "codestral-2501", "", {"chat", "prefill"}),
        ("ollama", "qwen", "", {"chat", "prefill", "direct"}),
        ("huggingface", "q/q", "", {"chat"}),
    ],
)
def test_a_form_that_is_not_taken_is_a_problem(name: str, model: str, base_url: str, taken: set[str], form: PromptForm):
    lines = [line for line in problems(name, model, form=form, base_url=base_url) if "prompt.form" in line]
    assert bool(lines) == (form not in taken)
    assert all("set it to" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "model", "sampling", "setting"),
    [
        ("openai", "o3", GREEDY, "sampling.temperature"),
        ("openai", "gpt-5", GREEDY, "sampling.temperature"),
        ("openai", "gpt-5-mini-2025-08-07", GREEDY, "sampling.temperature"),
        ("openai", "gpt-5.2", replace(GREEDY, reasoning_effort="high"), "sampling.temperature"),
        ("openai", "gpt-6.1-sol", GREEDY, "sampling.temperature"),
        ("openai-responses", "gpt-4o", Sampling(stop=("\nA",)), "sampling.stop"),
        ("openai-responses", "o3", GREEDY, "sampling.temperature"),
        ("openai", "o3", Sampling(stop=("\nA",)), "sampling.stop"),
        ("openai", "gpt-4o", Sampling(stop=("a", "b", "c", "d", "e")), "sampling.stop"),
        ("openai", "gpt-4o", Sampling(reasoning_effort="low"), "sampling.reasoning_effort"),
        ("anthropic", "claude-opus-4-7", GREEDY, "sampling.temperature"),
        ("anthropic", "claude-haiku-5-5", GREEDY, "sampling.temperature"),
        ("anthropic", "claude-fable-5", GREEDY, "sampling.temperature"),
        ("anthropic", "claude-sonnet-4-5", replace(GREEDY, top_p=0.95), "sampling.top_p"),
        ("anthropic", "claude-sonnet-4-5", Sampling(), "sampling.max_tokens"),
        ("anthropic", "claude-sonnet-4-5", replace(GREEDY, temperature=1.2), "sampling.temperature"),
        ("anthropic", "claude-sonnet-4-5", replace(GREEDY, reasoning_tokens=1024), "sampling.temperature"),
        (
            "anthropic",
            "claude-sonnet-4-5",
            Sampling(max_tokens=2000, reasoning_tokens=2000),
            "sampling.reasoning_tokens",
        ),
        ("anthropic", "claude-sonnet-4-5", Sampling(max_tokens=2000, reasoning_tokens=99), "sampling.reasoning_tokens"),
        ("anthropic", "claude-sonnet-4-5", Sampling(max_tokens=9, reasoning_effort="low"), "sampling.reasoning_effort"),
        ("anthropic", "claude-opus-5", Sampling(max_tokens=9000, reasoning_tokens=1024), "sampling.reasoning_tokens"),
        ("anthropic", "claude-sonnet-4-5", replace(GREEDY, stop=("\n\n",)), "sampling.stop"),
        ("bedrock", "eu.anthropic.claude-opus-4-7-v1:0", GREEDY, "sampling.temperature"),
        ("bedrock", "anthropic.claude-sonnet-4-5-v1:0", replace(GREEDY, top_p=0.95), "sampling.top_p"),
        ("google", "gemini-2.5-pro", Sampling(reasoning_effort="low"), "sampling.reasoning_effort"),
        ("google", "gemini-3-pro", Sampling(reasoning_effort="low", reasoning_tokens=9), "sampling.reasoning_tokens"),
        ("google", "gemini-2.0-flash", Sampling(reasoning_tokens=9), "sampling.reasoning_tokens"),
        ("google", "gemini-2.5-pro", Sampling(stop=("a", "b", "c", "d", "e", "f")), "sampling.stop"),
        ("ollama", "m", Sampling(reasoning_effort="low", reasoning_tokens=0), "sampling.reasoning_effort"),
    ],
)
def test_what_a_model_does_not_take_is_a_problem(name: str, model: str, sampling: Sampling, setting: str):
    """Breaches of a model's known rules are reported at start-up, not by a thousand refused requests."""
    lines = problems(name, model, sampling)
    assert [line for line in lines if line.startswith(f"generation.{setting}:")], lines


@pytest.mark.parametrize(
    ("name", "model", "form", "note"),
    [
        ("openai", "gpt-4o", "chat", "without a promise"),  # of the seed
        ("openai", "qwen", "prefill", "continue_final_message"),
        ("anthropic", "claude-sonnet-4-5", "prefill", "without white space"),
        ("mistral", "m", "prefill", "taken off"),
        ("ollama", "m", "chat", "num_ctx"),
        ("huggingface", "q/q", "chat", "MODEL:PROVIDER"),
    ],
)
def test_what_is_done_differently_is_noted(name: str, model: str, form: PromptForm, note: str):
    """A change of meaning is reported and stored with the run."""
    base_url = OWN_SERVER if model == "qwen" else ""
    assert note in " ".join(opened(name, model, base_url).notes(Request("", (0,), Prompt(form), GREEDY, seed=1)))
