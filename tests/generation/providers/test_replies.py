"""Answers of every dialect mean the same once they are replies."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.generation.model_api import Answer, Reply, RequestError, TokenUsage
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.chat_completions import OpenAIProvider, completion_usage
from bigcodeflow.generation.providers.http_client import decoded
from bigcodeflow_clouds.anthropic import AnthropicProvider
from tests.generation.providers.conftest import asked, chat
from tests.generation.providers.double import Completion, Finish, Send, model_server
from tests.generation.providers.test_faults import JSON

SAID = Completion(
    "def task_func():\n\treturn 'ü'\n",
    reasoning="Let me see.",
    prompt_tokens=120,
    completion_tokens=70,
    reasoning_tokens=30,
    cached_tokens=64,
)


def replied(name: str, body: Any) -> Any:
    with model_server([Send(body)]) as server:
        return asked(server, name)


def test_text_and_reasoning_come_apart_and_tokens_mean_the_same(name: str):
    """What a cache held counts as read and reasoning as written, although the dialects count otherwise."""
    with model_server([SAID]) as server:
        reply = asked(server, name)
    assert reply.answers == (Answer(SAID.text, "stop", "Let me see."),)
    assert reply.served_model == "m-1-0613"
    assert reply.usage == (TokenUsage(120, 70) if name == "ollama" else TokenUsage(120, 70, 30, 64))


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("name", ["openai", "huggingface"])
def test_reasoning_has_two_names_in_the_protocol(name: str, field: str):
    """vLLM and gateways say reasoning, DeepSeek and older ones reasoning_content."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x", field: "why"}}
    assert replied(name, {"choices": [choice]}).answers == (Answer("x", "stop", "why"),)


@pytest.mark.parametrize("finish", ["stop", "length", "refusal"])
def test_the_end_of_an_answer_has_one_of_four_reasons(name: str, finish: Finish):
    """Cut off and refused answers are distinguished from finished ones."""
    with model_server([Completion("x", finish=finish)]) as server:
        reason = asked(server, name).answers[0].finish_reason
    assert reason == ("other" if (name, finish) == ("ollama", "refusal") else finish)


def test_each_reply_names_the_request(name: str):
    with model_server() as server:
        request_id = asked(server, name).request_id
    from_header = dict.fromkeys(("openai", "openai-responses", "azure", "anthropic"), "req-0")
    assert request_id == (from_header | {"google": "resp-1", "ollama": None}).get(name, "cmpl-1")


@pytest.mark.parametrize("name", ["openai", "google", "mistral", "huggingface"])
def test_several_answers_come_in_order(name: str):
    with model_server() as server:
        reply = asked(server, name, chat(samples=3))
    assert [answer.text for answer in reply.answers] == ["answer 0.0", "answer 0.1", "answer 0.2"]


@pytest.mark.parametrize(
    ("finish", "message", "answer"),
    [
        # OpenAI puts a refusal where no text is.
        ("stop", {"refusal": "I can't."}, Answer("I can't.", "refusal")),
        # A model that used its tokens up for reasoning has said nothing, which is for the engine to judge.
        ("length", {}, Answer("", "length")),
    ],
)
def test_an_answer_without_content_is_an_answer(finish: str, message: dict[str, str], answer: Answer):
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": None, **message}}
    assert replied("openai", {"choices": [choice]}).answers == (answer,)


def test_a_blocked_prompt_of_googles_is_refused():
    with pytest.raises(RequestError, match="PROHIBITED_CONTENT") as caught:
        replied("google", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert caught.value.kind == "refused"


def test_google_may_leave_written_tokens_out():
    """An answer that the limit cut off while reasoning has thoughts only."""
    usage = {"promptTokenCount": 5, "thoughtsTokenCount": 9}
    candidate = {"finishReason": "MAX_TOKENS", "content": {"role": "model"}}
    reply = replied("google", {"candidates": [candidate], "usageMetadata": usage})
    assert reply.answers == (Answer("", "length"),)
    assert reply.usage == TokenUsage(5, 9, 9)


@pytest.mark.filterwarnings("ignore:.*is not a valid FinishReason:UserWarning")  # of Google's SDK
@pytest.mark.parametrize("reason", ["a_reason_of_tomorrow", None])
def test_an_unknown_end_is_other(name: str, reason: str | None):
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": "x"}}
    bodies: dict[str, Any] = {
        "anthropic": {"content": [{"type": "text", "text": "x"}], "stop_reason": reason},
        "google": {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": reason}]},
        "ollama": {"message": {"role": "assistant", "content": "x"}, "done": True, "done_reason": reason},
        "openai-responses": {
            "status": "incomplete",
            "incomplete_details": {"reason": reason},
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}],
        },
    }
    assert replied(name, bodies.get(name, {"choices": [choice]})).answers == (Answer("x", "other"),)


def test_reasoning_that_a_server_left_out_is_counted():
    """Where the total exceeds the parts by the reasoning, it was not part of completion_tokens."""
    for written in (5, 35):
        usage = {"prompt_tokens": 10, "completion_tokens": written, "total_tokens": 45}
        details = {"completion_tokens_details": {"reasoning_tokens": 30}}
        assert completion_usage(usage | details) == TokenUsage(10, 35, 30)


def test_anthropic_counts_what_it_wrote_to_a_cache_as_read():
    """input_tokens leave out both what a cache held and what went into one."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11, "output_tokens": 3}
    reply = AnthropicProvider(Endpoint("m-1")).reply({"content": [], "stop_reason": "refusal", "usage": usage})
    assert reply.usage == TokenUsage(23, 3, None, 7)


@given(body=JSON | st.builds(lambda value: {"choices": [value], "content": [value], "usage": value}, JSON))
def test_no_answer_breaks_the_reading(body: Any):
    for provider in (OpenAIProvider(Endpoint("m-1")), AnthropicProvider(Endpoint("m-1"))):
        with contextlib.suppress(RequestError):
            assert isinstance(provider.reply(decoded(json.dumps(body))), Reply)
