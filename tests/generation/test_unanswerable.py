"""Samples that no request answers: the prompt is too long for the model. They stop a run, or count as failed answers."""

import re
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import GenerationError
from tests.generation.conftest import ASKED, Ask
from tests.generation.providers.double import Completion, Fail, Outcome, Received, model_server

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
