"""Small tasks, sample files of them, an empty ledger, and runs that ask a model for samples."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.schemas import TASKS
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.model_samples import AnswersSoFar, model_samples
from tests.generation.providers.double import ModelServer

MakeTasks = Callable[..., pa.Table]
WriteLines = Callable[..., Path]
Ask = Callable[..., tuple[Any, dict[str, Any]]]

ASKED = [{"task_id": f"T/{number}", "complete_prompt": f"def f(): # number {number}.\n"} for number in range(12)]
"""Tasks that `ask` asks for."""


def run_config(model: str = "openai:m", **generation: Any) -> RunConfig:
    """A run that asks a model."""
    return load_settings({"samples": {"source": "model"}, "generation": {"model": model, **generation}}, "test")


@pytest.fixture
def make_tasks() -> MakeTasks:
    """A TASKS table of the given ids, in that order."""

    def make(*task_ids: str) -> pa.Table:
        same = {"instruct_prompt": "Double a number.", "canonical_solution": "    return 2 * x", "test": ""}
        same |= {"code_prompt": "def task_func(x):", "entry_point": "task_func", "doc_struct": "{}"}
        same |= {"libs": [], "domains": [], "hard": False, "expected_tests": ["test_a"]}
        prompt = 'def task_func(x):\n    """{}"""\n'
        rows = [
            {"task_id": task_id, "position": position, "complete_prompt": prompt.format(task_id), **same}
            for position, task_id in enumerate(task_ids)
        ]
        return pa.Table.from_pylist(rows, schema=TASKS)

    return make


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """Write a sample file: objects become JSON, text and bytes are written as they are."""

    def write(*lines: Any, name: str = "samples.jsonl") -> Path:
        texts = [line if isinstance(line, str | bytes) else json.dumps(line) for line in lines]
        content = b"".join((text.encode() if isinstance(text, str) else text) + b"\n" for text in texts)
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def ledger(tmp_path: Path) -> AnswerLedger:
    """Holds no answers yet."""
    return AnswerLedger(tmp_path / "ledger")


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Asks for samples of four tasks, with answers kept in the test's folder; also returns all lines that were told.

    Each line goes to `tell` when it is told.
    """

    def call(
        server: ModelServer | None, dialect: str = "openai", tasks: Any = ASKED[:4], tell: Any = None, **given: Any
    ) -> Any:
        asked_by, address = given.pop("asked_by", None), {"base_url": server.url(dialect)} if server else {}
        config, lines = run_config(**{"model": f"{dialect}:m"} | address | given).generation, list[str]()
        tell = tell or lines.append
        table, statistics = model_samples(
            config,
            tasks,
            "complete",
            answers_folder=tmp_path / "answers",
            report=lambda _done, _all, note: tell(note),
            notify=tell,
            asked_by=asked_by,
        )
        found = AnswersSoFar(config, tasks, "complete", answers_folder=tmp_path / "answers").new()
        assert sorted(found.to_pylist(), key=str) == sorted(table.to_pylist(), key=str)
        return table, {**statistics, "lines": lines}

    return call
