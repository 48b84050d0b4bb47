"""Answers of which no program can come: tool calls, no content, thoughts that were cut off."""

from pathlib import Path
from typing import Any

import pytest

from tests.generation.conftest import Ask
from tests.generation.providers.double import Completion, Send, model_server

_CALL = {"id": "1", "type": "function", "function": {"name": "run", "arguments": "{}"}}


def _choice(content: str | None, finish: str, **message: Any) -> Send:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return Send({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


TOOLS = {
    "openai": _choice(None, "tool_calls", tool_calls=[_CALL]),
    "huggingface": _choice("", "stop", tool_calls=[_CALL]),
    "mistral": _choice("", "tool_calls", tool_calls=[_CALL]),
    "anthropic": Send(
        {
            "content": [{"type": "tool_use", "id": "1", "name": "run", "input": {}}],
            "stop_reason": "tool_use",
            "usage": {},
        }
    ),
    "google": Send({"candidates": [{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}),
    "ollama": Send(
        {
            "message": {"role": "assistant", "content": "", "tool_calls": [{"function": {}}]},
            "done": True,
            "done_reason": "stop",
        }
    ),
    "openai-responses": Send(
        {"status": "completed", "output": [{"type": "function_call", "name": "run", "arguments": "{}"}]}
    ),
}


@pytest.mark.parametrize("dialect", TOOLS)
def test_tool_calls_are_told(dialect: str, ask: Ask) -> None:
    """They are kept as they are, counted, and a line says what to look at."""
    with model_server([TOOLS[dialect]]) as server:
        table, statistics = ask(server, dialect)
    assert set(table["finish_reason"].to_pylist()) == {"tool_calls"}
    assert statistics["tool_calls"] == 4
    assert any("4 answers call tools" in line for line in statistics["lines"])


@pytest.mark.parametrize("finish", ["stop", "a_reason_of_tomorrow"])
def test_an_answer_without_content_is_told(finish: str, ask: Ask) -> None:
    with model_server([_choice(None, finish)]) as server:
        _, statistics = ask(server)
    assert any("4 answers hold no text" in line for line in statistics["lines"])


def test_an_answer_that_is_reasoning_alone_names_the_server_s_parser(ask: Ask) -> None:
    """A model without a mark of where its thoughts end has its program taken for a thought."""
    with model_server([_choice(None, "stop", reasoning_content="def task_func():\n    pass\n")]) as server:
        table, statistics = ask(server)
    assert all("def task_func" in row for row in table["reasoning"].to_pylist())
    [line] = [line for line in statistics["lines"] if "reasoning alone" in line]
    assert line.startswith("4 answers")
    assert "--reasoning-parser" in line


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_thoughts_that_were_cut_off_are_no_program(tag: str, ask: Ask) -> None:
    """A program that the model only thought of is not its answer; the thoughts are kept beside it."""
    thought = f"<{tag}>\nMaybe:\n```python\ndef task_func():\n    pass\n```\nor"
    with model_server([Completion(thought, finish="length")]) as server:
        table, statistics = ask(server)
    rows = table.to_pylist()
    assert {row["raw_text"] for row in rows} == {""}
    assert all("def task_func" in row["reasoning"] for row in rows)
    assert any("4 answers were cut off before their text began" in line for line in statistics["lines"])


def test_thoughts_that_ended_stay_where_they_are(ask: Ask, tmp_path: Path) -> None:
    """What follows them is the program, which the sanitizer takes out."""
    text = "<think>so</think>\n```python\nx = 1\n```"
    with model_server([Completion(text)]) as server:
        table, _ = ask(server)
    assert set(table["raw_text"].to_pylist()) == {text}
