"""Small tasks, sample files of them, and an empty ledger."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bigcodeflow.core.schemas import TASKS
from bigcodeflow.generation.answer_ledger import AnswerLedger

MakeTasks = Callable[..., pa.Table]
WriteLines = Callable[..., Path]


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
