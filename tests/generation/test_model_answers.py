"""Samples from a model, from settling the setting to the table: real SDKs, a server on loopback."""

import json
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import ConfigError, GenerationError
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.generation.costs import estimate_requests
from bigcodeflow.generation.model_settings import resolve_settings
from tests.generation.conftest import ASKED, Ask, run_config
from tests.generation.providers.double import Completion, Fail, Received, model_server

TASKS = ASKED[:4]


def test_each_sample_is_a_row_with_what_was_sent(ask: Ask) -> None:
    """In the order of tasks and samples; the row's request is what came over the wire."""
    with model_server(lambda _: Completion("```python\nx\n```", prompt_tokens=5, completion_tokens=3)) as server:
        table, statistics = ask(server, n_samples=2, sampling={"temperature": 0.5, "seed": 3})
        bodies = [received.body for received in server.requests]
    assert table.schema.equals(SAMPLES)
    rows = table.to_pylist()
    assert [(row["task_id"], row["sample_index"]) for row in rows] == [(f"T/{n}", i) for n in range(4) for i in (0, 1)]
    assert all(json.loads(row["request"]) in bodies for row in rows)
    assert {row["seed"] for row in rows} == {3, 4}
    assert {(row["prompt_tokens"], row["completion_tokens"], row["attempts"]) for row in rows} == {(5, 3, 1)}
    assert {row["cost_usd"] for row in rows} == {None}
    assert statistics["new_answers"] == 8


def test_more_samples_leave_those_that_are_there(ask: Ask) -> None:
    """Two more a task after one: the first is not asked for again, and other tasks find theirs too."""
    with model_server() as server:
        first, _ = ask(server, sampling={"temperature": 1})
        grown, _ = ask(server, n_samples=3, sampling={"temperature": 1})
        assert len(server.requests) == 12
        again, statistics = ask(server, n_samples=2, tasks=TASKS[1:], sampling={"temperature": 1})
        assert len(server.requests) == 12
    assert [row for row in grown.to_pylist() if row["sample_index"] == 0] == first.to_pylist()
    assert again.num_rows == 6
    assert statistics["new_answers"] == 0


def test_tasks_are_asked_for_in_another_order_than_the_tables(ask: Ask) -> None:
    """What takes long to execute can be asked for first, and the table stays what it is."""
    with model_server() as server:
        table, _ = ask(server, asked_by=lambda task: -int(task["task_id"][-1]), requests={"concurrency": 1})
        asked = [json.dumps(received.body) for received in server.requests]
    assert [next(n for n in range(4) if f"number {n}." in body) for body in asked] == [3, 2, 1, 0]
    assert table["task_id"].to_pylist() == [task["task_id"] for task in TASKS]


def test_several_samples_of_one_request_share_its_tokens(ask: Ask) -> None:
    with model_server(lambda _: Completion(prompt_tokens=11, completion_tokens=7)) as server:
        table, _ = ask(server, n_samples=3, samples_per_request=3, tasks=TASKS[:1])
        assert len(server.requests) == 1
    rows = table.to_pylist()
    assert len({row["raw_text"] for row in rows}) == 3
    assert (sum(row["prompt_tokens"] for row in rows), sum(row["completion_tokens"] for row in rows)) == (11, 7)


@pytest.mark.parametrize(
    ("answer", "reason", "counted"),
    [
        (Completion("half", finish="length"), "length", "cut_off"),
        (Completion("no", finish="refusal"), "refusal", "refused"),
        (Completion(" \n"), "empty", "empty"),
    ],
)
def test_poor_answers_are_kept_and_marked(ask: Ask, answer: Completion, reason: str, counted: str) -> None:
    """They are the model's answers: asked again, nothing is sent."""
    with model_server(lambda _: answer) as server:
        table, statistics = ask(server)
        ask(server)
        assert len(server.requests) == len(TASKS)
    assert set(table["finish_reason"].to_pylist()) == {reason}
    assert statistics[counted] == len(TASKS)


def test_what_is_missing_is_an_error_that_keeps_the_rest(ask: Ask) -> None:
    """The message counts and names; the next run asks for the missing one alone."""

    def script(received: Received) -> Completion | Fail:
        refused = "number 2." in received.raw.decode() and len(server.requests) <= len(TASKS)
        return Fail(400, "too long for me") if refused else Completion()

    with model_server(script) as server:
        with pytest.raises(GenerationError, match=r"1 of 4 samples have no answer: T/2 sample 0: .*too long for me"):
            ask(server)
        table, statistics = ask(server)
        assert len(server.requests) == len(TASKS) + 1
    assert (table.num_rows, statistics["new_answers"]) == (4, 1)


def test_what_a_model_does_not_take_is_reported_before_anything_is_sent(ask: Ask) -> None:
    """Every problem at once, each naming its setting."""
    with model_server() as server:
        with pytest.raises(ConfigError) as raised:
            ask(server, "anthropic", sampling={"seed": 1, "frequency_penalty": 0.5}, samples_per_request=2, n_samples=2)
        assert not server.requests
    for name in ("seed", "frequency_penalty", "samples_per_request"):
        assert name in str(raised.value)


def test_the_originals_defaults_give_way(ask: Ask) -> None:
    """A model that takes no temperature is asked without the original's 0, and a line says so."""
    with model_server() as server:
        _, statistics = ask(server, "anthropic", model="anthropic:claude-opus-4-8")
        assert "temperature" not in server.last.body
    assert any("temperature" in line for line in statistics["lines"])


def test_batches_only_where_there_are_any(ask: Ask) -> None:
    with model_server() as server, pytest.raises(ConfigError, match="no batch API"):
        ask(server, "ollama", requests={"batch": True})


def test_batches_that_may_cost_too_much_are_not_submitted(ask: Ask, tmp_path: Path) -> None:
    """Once submitted, nothing stops them: what they may cost is compared with the limit before, and so must be known."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "as_of: 2026-11-01\nprices: [{provider: openai, models: [m], input: 2, output: 1000, batch: 0.5}]\n"
    )
    limited: dict[str, Any] = {"batch": True, "max_cost_usd": 1.0}
    with model_server() as server:
        with pytest.raises(
            GenerationError, match=r"batches of 4 requests may cost 2\.00 US dollars, but the limit is 1"
        ):
            ask(server, requests=limited | {"prices": str(prices)}, sampling={"max_tokens": 1000})
        with pytest.raises(GenerationError, match="no price is known"):
            ask(server, requests=limited)
        assert not server.requests


def test_a_canary_key_is_nowhere(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in what is stored, nor in what is logged, nor in an error, though the server sends it back."""
    caplog.set_level("DEBUG")
    monkeypatch.setenv("CANARY_KEY", "canary-4711")
    with model_server(lambda received: Completion(received.headers["authorization"][:6])) as server:
        table, _ = ask(server, api_key_variable="CANARY_KEY")
        assert "canary-4711" in server.last.headers["authorization"]
    with model_server(lambda _: Fail(401, "wrong key canary-4711")) as server, pytest.raises(GenerationError) as raised:
        ask(server, api_key_variable="CANARY_KEY", sampling={"seed": 9})
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for text in (str(table.to_pylist()), caplog.text, str(raised.value), repr(raised.value.__cause__), stored.decode()):
        assert "canary-4711" not in text


def test_an_estimate_counts_what_is_still_to_be_asked(ask: Ask, tmp_path: Path) -> None:
    """Nothing is sent, answers that are there are left out, and an unknown price is none."""
    with model_server() as server:
        ask(server, tasks=TASKS[:1], sampling={"max_tokens": 10})
        sent = len(server.requests)
        config = run_config(base_url=server.url("openai"), n_samples=2, sampling={"max_tokens": 10}).generation
        found = estimate_requests(resolve_settings(config, "complete", sends=False), TASKS, tmp_path / "answers")
        assert len(server.requests) == sent
    assert (found.samples, found.known, found.requests, found.most_completion_tokens) == (8, 1, 7, 70)
    assert found.most_cost_usd is None
