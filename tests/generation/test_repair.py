"""What a further round asks: whom, in which conversation, by which way; with real providers on loopback."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, VERDICTS
from bigcodeflow.generation.model_settings import ModelSettings, resolve_settings, sampling_of
from bigcodeflow.generation.repair import RoundTables, conversation, failed_attempts, levels_by_template
from bigcodeflow.generation.repair import repaired_samples as repaired
from tests.generation.conftest import run_config
from tests.generation.providers.double import Completion, Received, model_server

TASKS = [
    {
        "task_id": f"T/{number}",
        "complete_prompt": f"def task_func():\n    '''Return {number}.'''\n",
        "instruct_prompt": "",
        "code_prompt": "def task_func():\n",
        "test": "class TestCases:\n    def test_it(self):\n        self.assertEqual(task_func(), 4711)\n",
    }
    for number in range(5)
]
DEFAULTS: dict[Any, Any] = {pa.string(): "", pa.int32(): 1, pa.bool_(): False, pa.float64(): 0.5}


def _row(schema: pa.Schema, **values: Any) -> dict[str, Any]:
    """A row whose other columns hold something of their type, or null where they may."""
    others = {one.name: None if one.nullable else DEFAULTS.get(one.type, []) for one in schema}
    return others | values


def round_of(statuses: dict[str, str], *, texts: Sequence[str] = (), index: int = 0, **sample: Any) -> RoundTables:
    """One sample a task, by status."""
    names = [{"task_id": task_id, "sample_index": index} for task_id in statuses]
    texts = texts or [f"answer {number}" for number in range(len(names))]
    rows = [_row(SAMPLES, **name, raw_text=text, **sample) for name, text in zip(names, texts, strict=True)]
    solutions = [_row(SOLUTIONS, **name, solution="pass", sanitizer="robust") for name in names]
    outcome = {"name": "test_it", "outcome": "error", "seconds": 0.1, "trace": "NameError: name 'x' is not defined"}
    verdicts = [
        _row(VERDICTS, **name, variant=variant, status=status if variant == "calibrated" else "pass", tests=[outcome])
        for name, status in zip(names, statuses.values(), strict=True)
        for variant in ("raw", "calibrated")
    ]
    pairs = ((rows, SAMPLES), (solutions, SOLUTIONS), (verdicts, VERDICTS))
    return RoundTables(*(pa.Table.from_pylist(list(found), schema=schema) for found, schema in pairs))


def _settings(form: Any = "chat", **generation: Any) -> ModelSettings:
    config = run_config(**generation).generation
    return ModelSettings("complete", form, sampling_of(config.sampling, form), config)


def _turns(settings: ModelSettings, *rounds: RoundTables) -> list[tuple[str, str]]:
    [attempts] = failed_attempts(rounds)
    request, _ = conversation(settings, TASKS[1], attempts, "traceback")
    return [(message.role, message.text) for message in request.prompt.messages]


def test_what_failed_is_asked_again_and_nothing_else() -> None:
    """No pass, nothing that was not judged or can never be answered; of two variants the calibrated one decides."""
    statuses = {"T/0": "pass", "T/1": "fail", "T/2": "infra_error", "T/3": "timeout", "T/4": "tampered"}
    found = failed_attempts([round_of(statuses)])
    assert [one[-1].sample["task_id"] for one in found] == ["T/1", "T/3", "T/4"]
    assert failed_attempts([round_of({"T/0": "fail"}, finish_reason="unanswerable")]) == []
    second = round_of({"T/1": "pass", "T/3": "fail"})
    assert [len(one) for one in failed_attempts([round_of(statuses), second])] == [2]


def test_a_conversation_is_question_answer_and_feedback_round_by_round() -> None:
    """Without the thoughts of earlier turns, and with a word where an answer was empty."""
    first = round_of({"T/1": "fail"}, texts=["<think>hm</think>\nmine"])
    roles = _turns(_settings(), first, round_of({"T/1": "fail"}, texts=[" "]))
    assert [role for role, _ in roles] == ["user", "assistant", "user", "assistant", "user"]
    assert [text for role, text in roles if role == "assistant"] == ["mine", "(no answer)"]
    assert "NameError: name 'x' is not defined" in roles[2][1]


def test_a_begun_answer_is_begun_again_and_closed_in_earlier_turns() -> None:
    """Models that run here go on inside the code block, whose end is no part of their answer."""
    turns = _turns(_settings("prefill", prompt={"system": "Be brief."}), round_of({"T/1": "fail"}, texts=["x = 1\n"]))
    assert [role for role, _ in turns] == ["system", "user", "assistant", "user", "assistant"]
    assert turns[2][1].endswith("```python\nx = 1\n```")
    assert turns[-1][1].endswith("```python\n")
    [attempts] = failed_attempts([round_of({"T/1": "fail"})])
    request, _ = conversation(_settings("prefill"), TASKS[1], attempts, "failed")
    assert len(request.prompt.messages) == 4


def test_a_model_without_turns_is_refused_in_one_line() -> None:
    """Before round 1 is paid for."""
    config = _settings(rounds=2, prompt={"form": "direct"}).config
    with pytest.raises(ConfigError, match=r"generation\.rounds 2: the form 'direct' continues code") as refused:
        resolve_settings(config, "complete", sends=False)
    assert "\n" not in str(refused.value)


def _ask(config: GenerationConfig, rounds: Sequence[RoundTables], folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    return repaired(
        config,
        TASKS,
        "complete",
        rounds,
        answers_folder=folder,
        report=lambda _done, _all, _note: None,
        notify=lambda _: None,
    )


def test_each_failed_sample_has_its_own_request_number_and_seed(tmp_path: Path) -> None:
    """Asked again it costs nothing, and the level of its feedback is known by its template."""

    def answer(received: Received) -> Completion:
        return Completion(f"seed {received.body['seed']}")

    with model_server(answer) as server:
        config = _settings(base_url=server.url("openai"), sampling={"seed": 5}, n_samples=4, feedback="tests").config
        first = round_of({"T/1": "fail", "T/2": "pass"}, index=3)
        table, counts = _ask(config, [first], tmp_path)
        again, _ = _ask(config, [first], tmp_path)
        assert len(server.requests) == 1
    assert table.equals(again)
    assert counts["new_answers"] == 1
    [row] = table.to_pylist()
    assert (row["task_id"], row["sample_index"], row["raw_text"]) == ("T/1", 3, "seed 8")
    assert levels_by_template("complete", config.prompt)[row["template_sha"]] == "tests"


def test_nothing_failed_asks_nobody(tmp_path: Path) -> None:
    """Not even for a key."""
    table, counts = _ask(_settings().config, [round_of({"T/1": "pass"})], tmp_path)
    assert (table.num_rows, counts["new_answers"]) == (0, 0)
