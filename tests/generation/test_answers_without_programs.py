"""Answers of which no program can come, samples that no request answers, and fields that a server refuses."""

import re
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import GenerationError
from tests.generation.conftest import ASKED, Ask
from tests.generation.providers.double import Completion, Fail, Outcome, Received, Send, model_server

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
    assert any("4 answers have no text" in line for line in statistics["lines"])


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


TOO_LONG = {
    "openai": Fail(
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "context_length_exceeded",
    ),
    "anthropic": Fail(400, "prompt is too long: 215000 tokens > 200000 maximum"),
    "google": Fail(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    "mistral": Fail(400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    "huggingface": Fail(422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"),
}


def too_long_for(fault: Fail, *numbers: int) -> Any:
    def script(received: Received) -> Outcome:
        found = re.search(r"number (\d+)\.", received.raw.decode())
        return fault if found and int(found[1]) in numbers else Completion("x")

    return script


@pytest.mark.parametrize(
    "dialect",
    [name if name in {"openai", "google"} else pytest.param(name, marks=pytest.mark.slow) for name in TOO_LONG],
)
def test_the_run_says_how_to_go_on_and_does_so(dialect: str, ask: Ask) -> None:
    """Stopped first; accepted then, only the ones that are missing are asked again; refused again, they are open."""
    with model_server(too_long_for(TOO_LONG[dialect], 0, 5)) as server:
        with pytest.raises(GenerationError, match=r"2 of 12 samples have no answer: .*unanswerable") as raised:
            ask(server, dialect, ASKED)
        assert "2 can never be answered: generation.unanswerable=fail counts them as failed" in str(raised.value)
        assert len(server.requests) == 12, "asked again in vain"
        table, statistics = ask(server, dialect, ASKED, unanswerable="fail")
        assert len(server.requests) == 14
        rows = {row["task_id"]: row for row in table.to_pylist()}
        failed = {task: row for task, row in rows.items() if row["finish_reason"] == "unanswerable"}
        assert set(failed) == {"T/0", "T/5"}
        assert all(row["raw_text"] == "" and row["error"] for row in failed.values())
        assert statistics["unanswerable"] == 2
        assert any("2 samples can never be answered" in line for line in statistics["lines"])
        ask(server, dialect, ASKED, unanswerable="fail")
        assert len(server.requests) == 14
        with pytest.raises(GenerationError, match="2 of 12"):
            ask(server, dialect, ASKED)


def test_those_that_come_first_are_accepted_once_something_has_come(ask: Ask) -> None:
    """Until an answer shows that the settings work, nothing is counted as failed."""
    with model_server(too_long_for(TOO_LONG["openai"], 0, 1, 2)) as server:
        table, _ = ask(server, tasks=ASKED, unanswerable="fail", requests={"concurrency": 1})
    assert table["finish_reason"].to_pylist().count("unanswerable") == 3


def test_where_nothing_can_be_answered_the_settings_are_to_blame(ask: Ask, tmp_path: Path) -> None:
    """A server with a short context fails no benchmark: the run stops and records no failed answer."""
    with model_server([TOO_LONG["openai"]]) as server:
        with pytest.raises(GenerationError, match=r"lower generation\.sampling\.max_tokens"):
            ask(server, tasks=ASKED, unanswerable="fail", requests={"concurrency": 1})
        assert len(server.requests) == 10
    assert not list(tmp_path.rglob("replies-*"))


NEW, OLD = "max_completion_tokens", "max_tokens"


def takes(name: str, words: str) -> Any:
    """A server that takes the limit under this name alone."""

    def script(received: Received) -> Outcome:
        other = OLD if name == NEW else NEW
        return Fail(400, words.format(sent=other, wanted=name)) if other in received.body else Completion()

    return script


@pytest.mark.parametrize(
    "words",
    [
        "Unsupported parameter: '{sent}' is not supported with this model. Use '{wanted}' instead.",
        "Unrecognized request argument supplied: {sent}",
        '[{{"type": "extra_forbidden", "loc": ["body", "{sent}"], "msg": "Extra inputs are not permitted"}}]',
    ],
)
def test_the_other_name_is_sent_once_one_is_refused(words: str, ask: Ask) -> None:
    """One request in vain, one line, and every further request goes right at once; rows hold what was taken."""
    with model_server(takes(NEW, words)) as server:
        table, statistics = ask(server, requests={"concurrency": 1})
        assert len(server.requests) == 4 + 1
    assert all(NEW in row["request"] and f'"{OLD}"' not in row["request"] for row in table.to_pylist())
    lines = [line for line in statistics["lines"] if NEW in line]
    assert lines == [f"the server takes no {OLD}: {NEW} is sent instead"]


def test_many_requests_at_once_are_all_sent_again(ask: Ask) -> None:
    with model_server(takes(NEW, "Unsupported parameter: '{sent}'. Use '{wanted}' instead.")) as server:
        table, statistics = ask(server)
        assert len(server.requests) <= 2 * 4
    assert table.num_rows == 4
    assert sum(NEW in line for line in statistics["lines"]) == 1


@pytest.mark.parametrize(("setting", "sent"), [(OLD, OLD), (NEW, NEW)])
def test_a_name_that_is_set_is_sent_and_no_other(setting: str, sent: str, ask: Ask) -> None:
    with model_server() as server:
        ask(server, requests={"limit_parameter": setting})
        assert sent in server.last.body
    other = OLD if setting == NEW else NEW
    refusing = takes(other, "Unsupported parameter: '{sent}'. Use '{wanted}' instead.")
    with model_server(refusing) as server, pytest.raises(GenerationError, match="Unsupported parameter"):
        ask(server, requests={"limit_parameter": setting}, sampling={"seed": 1})


def test_a_server_that_takes_neither_is_not_asked_for_ever(ask: Ask) -> None:
    refuses = Fail(400, f"Unsupported parameters: {OLD}, {NEW}")
    with model_server([refuses]) as server:
        with pytest.raises(GenerationError, match="Unsupported parameters"):
            ask(server, requests={"concurrency": 1})
        assert len(server.requests) == 4 + 1


def test_a_limit_that_is_too_large_is_not_another_name(ask: Ask) -> None:
    words = f"{OLD} is too large: 1280. This model supports at most 1024 completion tokens"
    with model_server([Fail(400, words)]) as server:
        with pytest.raises(GenerationError, match="is too large"):
            ask(server, requests={"concurrency": 1})
        assert all(OLD in received.body for received in server.requests)


def test_responses_ask_for_no_summary_where_there_is_none(ask: Ask) -> None:
    """OpenAI gives summaries of the reasoning to verified organizations alone; others get their answers without."""
    words = "Your organization must be verified to generate reasoning summaries. param: reasoning.summary"

    def script(received: Received) -> Outcome:
        asked = (received.body.get("reasoning") or {}).get("summary")
        return Fail(400, words) if asked else Completion()

    with model_server(script) as server:
        table, statistics = ask(
            server,
            "openai-responses",
            model="openai-responses:o3",
            sampling={"reasoning_effort": "low"},
            requests={"concurrency": 1},
        )
        assert len(server.requests) == 4 + 1
    assert table.num_rows == 4
    assert sum("refuses reasoning summaries" in line for line in statistics["lines"]) == 1
