"""Servers of OpenAI's protocol that refuse a field of a request, which is then sent as they take it."""

from typing import Any

import pytest

from bigcodeflow.core.errors import GenerationError
from tests.generation.conftest import Ask
from tests.generation.providers.double import Completion, Fail, Outcome, Received, model_server

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
    assert sum("summaries of reasoning" in line for line in statistics["lines"]) == 1
