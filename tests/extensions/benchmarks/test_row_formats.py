"""Own tasks in the row formats of LiveCodeBench and DS-1000, with answers that show every status."""

import base64
import json
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig, load_config
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.generation.model_settings import identity, prompt_of
from bigcodeflow_benchmarks.livecodebench import test_cases as read_cases
from tests.command import Command
from tests.generation.providers.double import Completion, Received, model_server

LIVE = "livecodebench/code_generation_lite"
KINDS = {"scripts": LIVE, "methods": LIVE, "contexts": "xlangai/DS-1000"}
LIMITS = ("execution.limits.time_seconds=3", "execution.limits.memory_mib=512", "generation.sampling.seed=0")
SETTINGS = [word for setting in LIMITS for word in ("--set", setting)]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _model(own_tasks: Path, kind: str) -> Callable[[Received], Completion]:
    """A model that gives the recorded answers of a task: the reference for seed 0, the faulty program for seed 1."""
    questions = [row.get("question_content") or row["prompt"] for row in _lines(own_tasks / f"{kind}.jsonl")]
    answers = [line["raw_solution"] for line in _lines(own_tasks / f"{kind}_answers.jsonl")]

    def answer(request: Received) -> Completion:
        asked = request.body["messages"][-1]["content"]
        [number] = [number for number, text in enumerate(questions) if text.strip().removeprefix("Problem:") in asked]
        return Completion(answers[2 * number + request.body["seed"]])

    return answer


def _check_statuses(command: Command, folder: Path, own_tasks: Path, kind: str, *chosen: str) -> None:
    words = ("--no-prefect", "--dataset", f"{KINDS[kind]}={own_tasks / kind}.jsonl", "--environment", "starter")
    with model_server(_model(own_tasks, kind)) as server:
        asked = ("--model", "openai:m", "--base-url", server.url("openai"), "--n-samples", "2", "--out", "out")
        command("run", *words, *asked, *SETTINGS, *chosen, OPENAI_API_KEY="k")
    expected = [line["expected_status"] for line in _lines(own_tasks / f"{kind}_answers.jsonl")]
    rows = pq.read_table(folder / "out/verdicts.parquet").to_pylist()
    assert len({row["status"] for row in rows}) == 7
    places = [2 * int(row["task_id"].partition("/")[2]) + row["sample_index"] for row in rows]
    assert [row["status"] for row in rows] == [expected[place] for place in places]
    assert {row["integrity"] for row in rows if row["status"] == "pass"} == {"checked"}


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
def test_every_status_occurs(command: Command, tmp_path: Path, own_tasks: Path, kind: str) -> None:
    """A model is asked for six tasks of each kind: references pass and are checked, faulty programs get their status."""
    _check_statuses(command, tmp_path, own_tasks, kind, "--ids", "0-5")


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
def test_all_own_tasks(command: Command, tmp_path: Path, own_tasks: Path, kind: str) -> None:
    """The same for all twenty tasks of each kind."""
    _check_statuses(command, tmp_path, own_tasks, kind)


def test_tasks_are_chosen_by_their_date(command: Command, own_tasks: Path) -> None:
    """Tasks released from a day on are kept; tasks without a date are not."""
    config = DatasetConfig(source=f"{LIVE}={own_tasks / 'scripts.jsonl'}", released_after="2024-08-01")
    kept = load_tasks(config, resolve(config))
    dates = {json.loads(text)["released"] for text in kept["doc_struct"].to_pylist()}
    assert min(dates) == "2024-08-01"
    assert kept.num_rows == 6
    starter = DatasetConfig(released_after="2024-08-01")
    with pytest.raises(DatasetError, match="no task matches released_after 2024-08-01"):
        load_tasks(starter, resolve(starter))


def test_cases_that_do_not_fit_are_left_out(
    command: Command, tmp_path: Path, own_tasks: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where all cases do not fit into a test text, a warning says how many are left out; the task stays."""
    row = _lines(own_tasks / "scripts.jsonl")[0]
    numbers = [" ".join(str(number**5 % 9973) for number in range(50_000 * place)) for place in range(1, 4)]
    cases = [{"input": f"{text}\n", "output": "1\n", "testtype": "stdin"} for text in ("1 2", *numbers)]
    (tmp_path / "rows.jsonl").write_text(json.dumps({**row, "private_test_cases": json.dumps(cases)}) + "\n")
    config = DatasetConfig(source=f"{LIVE}={tmp_path / 'rows.jsonl'}")
    [task] = load_tasks(config, resolve(config)).to_pylist()
    assert "question 0: 3 of 4 cases are too large" in caplog.text
    assert task["expected_tests"] == ["test_private_1", "test_public_1", "test_public_2"]


def test_private_tests_are_read_without_executing_their_pickle() -> None:
    """Compressed pickled JSON is read like plain JSON; a pickle that calls a function is refused."""

    def encoded(value: object) -> str:
        return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()

    cases = [{"input": "1\n", "output": "ä" * 300, "testtype": "stdin"}]
    assert read_cases(json.dumps(cases)) == read_cases(encoded(json.dumps(cases))) == cases
    for value in (print, [json.dumps(cases)], {"a": "b"}):
        with pytest.raises(ValueError, match="must hold a single text and nothing else"):
            read_cases(encoded(value))


def test_a_model_is_asked_as_the_benchmark_asks(command: Command, own_tasks: Path) -> None:
    """The chat prompt has the benchmark's system prompt, headings and starter code; answers keep their ledger."""
    source = f"{LIVE}={own_tasks / 'methods.jsonl'}"
    config = load_config(None, (), {"dataset.source": source, "dataset.ids": "3", "generation.model": "openai:m"})
    [task] = load_tasks(config.dataset, resolve(config.dataset)).to_pylist()
    system, user = prompt_of(task, config.dataset.split, "chat", config.generation.prompt).messages
    assert system.text.startswith("You are an expert Python programmer.")
    assert user.text.startswith("### Question:\nReturn the median of the numbers.\n\n### Format: You will use")
    assert "```python\nclass Solution:\n    def middle(self, numbers):\n" in user.text
    assert user.text.endswith("### Answer: (use the provided format with backticks)\n")
    assert "stop" not in identity(config.generation)["prompt"]
